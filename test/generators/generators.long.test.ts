// Generators that people use, on openapi.json as it is: no warning, strict output, and the main job against a service.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { outside, strictly } from '../sdk/support.ts';
import { nodeWithoutTap } from '../support/loader.ts';
import { plansFile, startTestService } from '../support/service.ts';

const run = promisify(execFile);
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const document = here('../../openapi.json');

/** What each prints when all is well, line by line; anything else is a warning. Guide "SDKs" gives the same commands. */
const generators = [
  {
    name: 'openapi-typescript',
    program: 'openapi-typescript',
    args: [document, '--output', 'generated/schema.d.ts', '--default-non-nullable', 'false'],
    says: [
      /^✨ openapi-typescript 7\.13\.0$/,
      /^🚀 \S+openapi\.json → generated\/schema\.d\.ts \[\d+(\.\d+)?m?s\]$/,
    ],
  },
  {
    name: 'hey-api',
    // Its own files, which have nothing of the document in them, pass undefined where exactOptionalPropertyTypes forbids it.
    options: { exactOptionalPropertyTypes: false },
    program: 'openapi-ts',
    args: ['--input', document, '--output', 'generated'],
    says: [
      /^@hey-api\/openapi-ts v0\.95\.0$/,
      /^\[Job 1\] ⏳ Generating from 1 input:$/,
      /^\[Job 1\] {3}\[1\] \S+openapi\.json$/,
      /^\[Job 1\] ✅ Done! Your output is in \S*generated$/,
    ],
  },
  {
    name: 'orval',
    program: 'orval',
    args: ['--input', document, '--output', 'generated/client.ts', '--client', 'fetch'],
    says: [
      /^🍻 orval v7\.13\.2 - /,
      /^🎉 Parley API - Your OpenAPI spec has been converted into ready to use orval!$/,
    ],
  },
];

const { client } = await startTestService(t, 'embedded', plansFile(t, { chat: 1 }));
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

for (const { args, name, options, program, says } of generators) {
  t.test(`${name}: no warning, compiles strictly, does the main job`, async (t) => {
    const cwd = outside(t);
    writeFileSync(join(cwd, 'package.json'), '{"private": true, "type": "module"}');
    mkdirSync(join(cwd, 'generated'));
    symlinkSync(here('node_modules'), join(cwd, 'node_modules'));
    const { stderr, stdout } = await run(
      ...nodeWithoutTap(join(cwd, 'node_modules/.bin', program), ...args),
      { cwd },
    );
    const lines = `${stdout}\n${stderr}`
      .replace(escapes, '')
      .split('\n')
      .filter((line) => line.trim() !== '');
    t.strictSame(
      lines.filter((line) => !says.some((expected) => expected.test(line))),
      [],
      'nothing to complain about',
    );

    copyFileSync(here(`programs/${name}.ts`), join(cwd, 'program.ts'));
    t.equal(
      await strictly(cwd, ['program.ts'], {
        lib: ['ES2022', 'DOM', 'DOM.Iterable'],
        types: ['node'],
        ...options,
      }),
      '',
    );

    const { cookie } = await client.signUp();
    const said = JSON.parse(
      (await run(...nodeWithoutTap('program.js', client.origin, cookie), { cwd })).stdout,
    );
    t.match(said, {
      prefix: /^parley_[0-9A-Za-z]{8}$/,
      key: /^parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/,
      reply: /key/,
      used: 1,
      code: 'quotaExceeded',
      ceiling: 1,
    });
  });
}
