/**
 * Builds the SDK as an npm package: `node tools/sdk/build.mjs [FOLDER]`, by default `sdk/`.
 *
 * The package bundles its dependencies (`bundleDependencies`), because `npm install ./sdk` links the folder without
 * installing them.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = path.join(root, 'src/sdk');
const target = path.resolve(process.argv[2] ?? path.join(root, 'sdk'));
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const installed = (name) => path.join(root, 'node_modules', name);

const direct = ['eventsource-parser', 'openapi-fetch'];
/** Includes their dependency `openapi-typescript-helpers`, which has only types. */
const bundled = [...direct, ...direct.flatMap((name) => dependenciesOf(name))];

fs.rmSync(target, { recursive: true, force: true });
const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
const args = [
  compiler,
  '-p',
  path.join(root, 'tools/sdk'),
  '--outDir',
  path.join(target, 'dist'),
  '--pretty',
  'false',
];
const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
if (status !== 0) {
  console.error(`${stdout}\nThe SDK does not compile: fix the errors above.`);
  process.exit(1);
}
// Compilers before 5.0 do not support imports that end in `.ts`.
for (const name of fs.readdirSync(path.join(target, 'dist')).filter((name) => name.endsWith('.d.ts'))) {
  const file = path.join(target, 'dist', name);
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/(from '\.\/\w+)(\.d)?\.ts'/g, "$1.js'"));
}
fs.copyFileSync(path.join(source, 'schema.d.ts'), path.join(target, 'dist/schema.d.ts'));
fs.copyFileSync(path.join(source, 'README.md'), path.join(target, 'README.md'));
fs.copyFileSync(path.join(root, 'LICENSE'), path.join(target, 'LICENSE'));
for (const name of bundled)
  fs.cpSync(installed(name), path.join(target, 'node_modules', name), { recursive: true, dereference: true });

const { engines, license, version } = read(path.join(root, 'package.json'));
const manifest = {
  name: 'parley-sdk',
  version,
  description: 'The client for Parley, generated from its openapi.json.',
  license,
  type: 'module',
  engines,
  sideEffects: false,
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  files: ['dist'],
  dependencies: Object.fromEntries(
    bundled.map((name) => [name, read(path.join(installed(name), 'package.json')).version]),
  ),
  bundleDependencies: bundled,
};
fs.writeFileSync(path.join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
console.log(
  `parley-sdk ${version} is in ${path.relative(process.cwd(), target) || '.'}: npm install ${target}`,
);

function dependenciesOf(name) {
  return Object.keys(read(path.join(installed(name), 'package.json')).dependencies ?? {});
}
