/** Runs a Vite development server with the configuration from a page. Its requests must reach the service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { freePort } from '../support/programs.ts';
import type { Outcome } from './page.ts';

const vite = fileURLToPath(new URL('../../src/dashboard/node_modules/vite/bin/vite.js', import.meta.url));

export async function proxyOf(
  t: Test,
  folder: string,
  config: string,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  const what = 'served by Vite';
  if (!existsSync(vite)) return { what, skipped: 'Vite is not installed' };
  writeFileSync(join(folder, 'vite.config.mjs'), config);
  const port = await freePort();
  const args = [vite, '--host', '127.0.0.1', '--port', String(port), '--strictPort'];
  const { NODE_OPTIONS: _, ...own } = process.env; // set by tap to trace the processes of a test
  const server = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    if (server.exitCode === null && server.kill()) await once(server, 'exit');
  });
  await new Promise<void>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text) => text.includes('ready in') && resolve());
    server.once('exit', (code) => reject(new Error(`Vite exited with ${code}.`)));
  });
  const origin = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${origin}/api/v1/chat`, {
    method: 'POST',
    headers: { Origin: origin, 'Content-Type': 'application/json' },
    body: JSON.stringify({ message: 'Hello' }),
  });
  const text = await answer.text();
  return answer.ok ? { what } : { what, problem: `${answer.status}: ${text}` };
}
