// Popular generators on the unmodified openapi.json: they print no warning, their output compiles in strict mode, and a
// program that uses it works against a service.
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

const kubbConfig = `
import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';

export default defineConfig({
  input: { path: ${JSON.stringify(document)} },
  output: { path: 'generated', extension: { '.ts': '.js' }, format: false },
  plugins: [pluginOas(), pluginTs(), pluginClient({ client: 'fetch' })],
});
`;

const generatorPlusConfig = JSON.stringify({
  inputPath: document,
  outputPath: 'generated',
  generator: '@openapi-generator-plus/typescript-fetch-client-generator',
  includePolyfills: false,
});

type Generator = {
  name: string;
  program: string;
  args: string[];
  /** The lines that it prints on success. Any other line is a warning. */
  says: RegExp[];
  /** Its configuration: file names with their content. */
  files?: Record<string, string>;
  /** Compiler options that the generator's runtime files need, regardless of the document. */
  options?: Record<string, unknown>;
  /** Imports without file extensions run only as CommonJS. */
  isCommonJs?: true;
};

/** Some generators pass undefined where exactOptionalPropertyTypes forbids it. */
const inexact = { exactOptionalPropertyTypes: false };
/** The declarations of a package that the output imports do not compile in strict mode. */
const ofLibrary = { skipLibCheck: true };

/** The "SDKs" guide lists the same commands. */
const generators: Generator[] = [
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
    options: inexact,
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
  {
    name: 'swagger-typescript-api',
    program: 'swagger-typescript-api',
    args: ['generate', '--path', document, '--output', 'generated', '--name', 'api.ts'],
    says: [
      /^(ℹ|\[info\]) Code generator will use the default template for "(api|routetypes)"$/,
      /^(ℹ|\[info\]) try to get swagger by path "\S+openapi\.json"$/,
      /^(ℹ|\[info\]) start generating your typescript api$/,
      /^(✔|\[success\]) api file "api\.ts" created in \S*generated$/,
    ],
  },
  {
    name: 'oazapfts',
    options: inexact,
    program: 'oazapfts',
    args: [document, 'generated/api.ts'],
    says: [],
  },
  {
    name: 'kubb',
    options: { ...inexact, ...ofLibrary },
    program: 'kubb',
    args: ['generate'],
    files: { 'kubb.config.js': kubbConfig },
    says: [
      /^(ℹ|✓) Config loaded (successfully )?kubb\.config\.js$/,
      /^(Configuration|Generation) (started|completed)$/,
      /^Kubb CLI/,
      /^(ℹ (Setup|Build) generation|✓ Generation successfully) \S+openapi\.json$/,
      /^Generating plugin-(oas|ts|client)$/,
      /^plugin-(oas|ts|client) completed in /,
      /^(Writing|Files written)/,
      /^ℹ Load summary/,
      /^─+$/,
      /^Plugins: +3 successful, 3 total$/,
      /^Generated: +\d+ files in /,
      /^Output: /,
    ],
  },
  {
    name: 'openapi-zod-client',
    program: 'openapi-zod-client',
    args: [document, '--output', 'generated/api.ts', '--with-alias'],
    options: ofLibrary,
    says: [/^Retrieving OpenAPI document from \S+openapi\.json$/, /^Done generating <generated\/api\.ts> !$/],
  },
  {
    name: 'openapi-generator-plus',
    options: {
      ...inexact,
      module: 'commonjs',
      moduleResolution: 'node10',
      noUnusedLocals: false,
      noUnusedParameters: false,
      verbatimModuleSyntax: false,
    },
    isCommonJs: true,
    program: 'openapi-generator-plus',
    args: ['--config', 'config.json'],
    files: { 'config.json': generatorPlusConfig },
    says: [/^Generated in \d+ms: \S*generated$/],
  },
];

const { client } = await startTestService(t, 'embedded', plansFile(t, { chat: 1 }));
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

for (const { args, files = {}, isCommonJs, name, options, program, says } of generators) {
  t.test(`${name} prints no warning, and its output compiles in strict mode and works`, async (t) => {
    const cwd = outside(t);
    const type = isCommonJs ? 'commonjs' : 'module';
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, type }));
    for (const [file, content] of Object.entries(files)) writeFileSync(join(cwd, file), content);
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
      'the generator prints no warning',
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
