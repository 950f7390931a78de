import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { programs } = (await import(new URL('../../tools/prepare/programs.mjs', import.meta.url).href)) as {
  programs: string[];
};

/** A small checkout in a temporary folder, with the real tools/prepare and Makefile, and a fake npm. */
export type Checkout = {
  folder: string;
  write(name: string, content: string): void;
  read(name: string): string;
  has(name: string): boolean;
  /** The arguments of each npm call, one line per call. */
  npmCalls(): string[];
  /** Starts `node tools/prepare.mjs MODE`. */
  start(mode: string, env?: NodeJS.ProcessEnv): Preparation;
  /** The same, but without write access to the folder, as if another user owned it. */
  startReadOnly(mode: string): Preparation;
  remove(): void;
};

export type Preparation = { process: ChildProcess; ended: Promise<{ code: number | null; output: string }> };

const main = `
import http from 'node:http';
const server = http.createServer((_request, reply) => reply.end('served'));
server.listen(0, '127.0.0.1', () => console.log('serving'));
process.on('SIGINT', () => { console.log('draining'); process.exit(0); });
export const typed: string = 'typed';
`;

/** Fakes the dashboard's bundler: writes two files, and fails if a source is broken. */
const vite = `
const fs = require('node:fs');
const out = process.argv[process.argv.indexOf('--outDir') + 1];
const source = fs.readFileSync('main.tsx', 'utf8');
if (source.includes('broken')) { console.error('main.tsx: broken'); process.exit(1); }
fs.mkdirSync(out + '/assets', { recursive: true });
fs.writeFileSync(out + '/index.html', source);
fs.writeFileSync(out + '/assets/index.js', source);
`;

/** Fakes the package with the renderer of the API reference. The Fastify server that loads it is real. */
const renderer = `
export default async (app) => app.get('/js/scalar.js', async () => 'the renderer');
`;

/** Fakes the embedded database: creates one file. */
const database = `
import { writeFileSync } from 'node:fs';
export const PGlite = {
  async create({ dataDir }) {
    writeFileSync(dataDir + '/PG_VERSION', '18');
    return { close: async () => {} };
  },
};
`;

/**
 * Fakes npm: records its arguments and links the compiler. NPM_BEHAVES makes it misbehave (`hangs` before it is done,
 * `slow`, `offline`).
 */
const npm = `#!/bin/sh
echo "$@" >> "$NPM_CALLS"
mkdir node_modules
case "$NPM_BEHAVES" in
hangs) sleep 30;;
slow) sleep 1;;
offline) echo 'npm error code ECONNREFUSED' >&2; exit 1;;
esac
ln -s '${path.join(root, 'node_modules/esbuild')}' '${path.join(root, 'node_modules/fastify')}' node_modules/
mkdir -p node_modules/@scalar/fastify-api-reference
cp "$(dirname "$0")/renderer.js" node_modules/@scalar/fastify-api-reference/index.js
echo '{"type": "module"}' > node_modules/@scalar/fastify-api-reference/package.json
mkdir -p node_modules/@electric-sql/pglite
cp "$(dirname "$0")/database.js" node_modules/@electric-sql/pglite/index.js
echo '{"type": "module", "exports": "./index.js"}' > node_modules/@electric-sql/pglite/package.json
if grep -q vite package.json; then
  mkdir -p node_modules/vite/bin
  cp "$(dirname "$0")/vite.js" "$(dirname "$0")/package.json" node_modules/vite/bin/
fi
case "$*" in *include=dev*) mkdir node_modules/tool;; esac
`;

/** Through this variable, tap makes every Node.js process that a test starts report to it. */
const withoutTap = 'unset NODE_OPTIONS; exec "$0" "$@"';

export function makeCheckout(): Checkout {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-checkout-'));
  fs.chmodSync(folder, 0o755);
  const write = (name: string, content: string) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  };
  const calls = path.join(folder, 'data/npm-calls');
  for (const name of ['tools/prepare.mjs', 'tools/prepare', 'Makefile', 'tsconfig.json']) {
    fs.cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  }
  write(
    'package.json',
    '{"type": "module", "engines": {"node": ">=20.19"}, "devDependencies": {"tool": "1"}}',
  );
  write('package-lock.json', '{}');
  write('test/clients/package.json', '{}');
  write('test/clients/package-lock.json', '{}');
  for (const name of programs) write(`src/${name}.ts`, main);
  write('src/dashboard/package.json', '{"dependencies": {"vite": "1"}}');
  write('src/dashboard/package-lock.json', '{}');
  write('src/dashboard/colors.ts', 'export const sharedColors = {};');
  write('src/dashboard/paths.ts', 'export const pagePaths: readonly string[] = [];');
  write('src/dashboard/main.tsx', 'the dashboard');
  write('data/bin/vite.js', vite);
  write('data/bin/renderer.js', renderer);
  write('data/bin/database.js', database);
  write('data/bin/package.json', '{"type": "commonjs"}');
  write('data/bin/npm', npm);
  fs.chmodSync(path.join(folder, 'data/bin/npm'), 0o755);
  const environment = (env: NodeJS.ProcessEnv = {}) => ({
    ...process.env,
    PATH: `${path.join(folder, 'data/bin')}:${process.env.PATH}`,
    NPM_CALLS: calls,
    ...env,
  });
  const start = (before: string[], mode: string, env?: NodeJS.ProcessEnv) => {
    const command = [...before, process.execPath, 'tools/prepare.mjs', mode];
    return follow(spawn('/bin/sh', ['-c', withoutTap, ...command], { cwd: folder, env: environment(env) }));
  };
  return {
    folder,
    write,
    read: (name) => fs.readFileSync(path.join(folder, name), 'utf8'),
    has: (name) => fs.existsSync(path.join(folder, name)),
    npmCalls: () => (fs.existsSync(calls) ? fs.readFileSync(calls, 'utf8').trim().split('\n') : []),
    start: (mode, env) => start([], mode, env),
    startReadOnly(mode) {
      fs.chmodSync(folder, 0o555);
      // Root may write anywhere unless this capability is dropped.
      const run = start(process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : [], mode);
      run.ended.finally(() => fs.chmodSync(folder, 0o755));
      return run;
    },
    remove: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

/** Collects a program's output until it exits. */
export function follow(child: ChildProcess): Preparation {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  return { process: child, ended: once(child, 'close').then(([code]) => ({ code, output })) };
}
