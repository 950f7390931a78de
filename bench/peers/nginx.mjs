/**
 * nginx as a proxy with keep-alive connections to the upstream. It does not read the body, authenticate, count, or log. It has
 * one worker, because the other peers have one process.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const isListening = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

const { host, pathname } = new URL(process.env.UPSTREAM_URL);
const folder = mkdtempSync(path.join(tmpdir(), 'parley-bench-nginx-'));
const port = await freePort();
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `  ${name}_temp_path ${folder}/${name};`)
  .join('\n');
const file = path.join(folder, 'nginx.conf');
writeFileSync(
  file,
  `${process.getuid() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  client_max_body_size 20m;
  client_body_buffer_size 2m;
${temporary}
  keepalive_requests 1000000000;
  upstream model { server ${host}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location /api/v1/ {
      proxy_pass http://model${pathname}/;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_buffering off;
    }
  }
}
`,
);
const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
// nginx removes its files before it exits.
nginx.on('exit', (code) => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(code ?? 1);
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => nginx.kill('SIGTERM'));
while (!(await isListening(port))) await sleep(20);
process.send(port);
