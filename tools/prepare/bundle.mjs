/**
 * `node tools/prepare/bundle.mjs FOLDER`: compiles the service to FOLDER, and bundles its packages into a few files.
 * Loading a thousand modules one by one took most of the startup time: docs/decisions/0037-one-bundle.md.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, formatMessages } from 'esbuild';
import { programs } from './programs.mjs';

/** Packages that stay in `node_modules`. */
const apart = [
  // These load native code, worker programs, or data files from their own folders.
  '@electric-sql/pglite',
  '@node-rs/argon2',
  '@scalar/fastify-api-reference',
  'pino',
  'pino-pretty',
  'piscina',
  // A bundle would strip the names of its exports.
  '@zxcvbn-ts/language-common',
  // Few services use these packages, and they are as large as all the others.
  '@opentelemetry/*',
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const [folder] = process.argv.slice(2);

try {
  await build({
    absWorkingDir: root,
    entryPoints: programs.map((name) => ({ in: `src/${name}.ts`, out: name })),
    outdir: path.resolve(folder),
    bundle: true,
    // Shares code between programs in common files, and puts lazily loaded code into separate files.
    splitting: true,
    chunkNames: '[name]-[hash]',
    external: apart,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Keeps non-ASCII characters out of comments and templates: they would make V8 use two bytes per character.
    minifyWhitespace: true,
    lineLimit: 120,
    supported: { 'template-literal': false },
    // For CommonJS packages.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    logLevel: 'silent',
  });
} catch (error) {
  if (error.errors === undefined) throw error;
  console.error((await formatMessages(error.errors, { kind: 'error' })).join('\n'));
  process.exitCode = 1;
}
