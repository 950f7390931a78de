// The output of `make sdk`, as other projects use it: packed, installed, compiled in strict mode, and run.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { plansFile, startTestService } from '../support/service.ts';
import { buildSdk, outside, strictly } from './support.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const { NODE_OPTIONS: _, ...env } = process.env; // tap sets it to follow child processes.

const sdk = await buildSdk(t);

t.test('the packed SDK compiles in strict mode, and a program that uses it works', async (t) => {
  const cwd = outside(t);
  writeFileSync(join(cwd, 'package.json'), '{"private": true, "type": "module"}');
  const { stdout: packed } = await run('npm', ['pack', '--silent', '--pack-destination', cwd], {
    cwd: sdk,
    env,
  });
  const install = ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', [...install, join(cwd, packed.trim())], { cwd, env });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  t.match(JSON.parse(readFileSync(join(cwd, 'node_modules/parley-sdk/package.json'), 'utf8')), {
    name: 'parley-sdk',
    version,
  });
  t.notOk(existsSync(join(cwd, 'node_modules/openapi-fetch')), 'dependencies are bundled');

  await t.test('the package compiles with the types of Node.js or of a browser', async (t) => {
    cpSync(join(root, 'node_modules/@types/node'), join(cwd, 'node_modules/@types/node'), {
      recursive: true,
    });
    cpSync(join(root, 'node_modules/undici-types'), join(cwd, 'node_modules/undici-types'), {
      recursive: true,
    });
    cpSync(fileURLToPath(new URL('program.ts', import.meta.url)), join(cwd, 'program.ts'));
    t.equal(await strictly(cwd, ['program.ts'], { types: ['node'] }), '');
    writeFileSync(
      join(cwd, 'page.ts'),
      `import { createParley } from 'parley-sdk';
       export const reply = (await createParley({ baseUrl: location.origin }).chat({ message: 'Hello' })).reply;`,
    );
    const browser = {
      types: [],
      lib: ['ES2022', 'DOM', 'DOM.Iterable'],
      moduleResolution: 'bundler',
      module: 'esnext',
    };
    t.equal(await strictly(cwd, ['page.ts'], browser), '');
  });

  const { client } = await startTestService(t, 'embedded', plansFile(t, { chat: 4 }));
  const { cookie } = await client.signUp();
  const { stdout } = await run(process.execPath, ['program.js', client.origin, cookie], { cwd, env });
  const said = JSON.parse(stdout);
  t.match(said, {
    plain: { model: 'parley-builtin', reply: /key/, finish_reason: 'stop' },
    seen: ['start', 'delta', 'done'],
    aborted: 'AbortError',
    usage: { plan: 'small', used: { chat: 4 }, limits: { chat: 4 } },
    chatLimit: 4,
    refused: {
      code: 'quotaExceeded',
      status: 429,
      limit: { name: 'chat', ceiling: 4 },
      requestId: /^[0-9a-f-]{36}$/,
      retryAfter: Number,
    },
  });
  t.equal(said.streamed, said.plain.reply);
  t.equal(said.first, said.second);
});

t.test('npm install works with the folder, which npm only links', async (t) => {
  const cwd = outside(t);
  writeFileSync(join(cwd, 'package.json'), '{"private": true, "type": "module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', sdk], {
    cwd,
    env,
  });
  const program = `import { createParley } from 'parley-sdk';
    console.log(typeof createParley({ baseUrl: 'http://localhost:3000' }).createKey);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd, env });
  t.equal(stdout.trim(), 'function');
});
