/**
 * `node tools/prepare/bundle.mjs FOLDER`: compiles the service to FOLDER, with the code of its packages in a few files.
 * Loading its thousand modules one by one took longer than the rest of a start: docs/decisions/0037-one-bundle.md.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, formatMessages } from 'esbuild';
import { programs } from './programs.mjs';

/** Packages that stay in `node_modules`. */
const apart = [
  // They load native code, programs for threads, or data that lies beside them.
  '@electric-sql/pglite',
  '@node-rs/argon2',
  '@scalar/fastify-api-reference',
  'pino',
  'pino-pretty',
  'piscina',
  // As part of a bundle, its exports lose their names.
  '@zxcvbn-ts/language-common',
  // Few services use it, and it is as large as all the others.
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
    // One copy of what several programs use, and files of their own for what is loaded later.
    splitting: true,
    chunkNames: '[name]-[hash]',
    external: apart,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Nothing outside ASCII, neither in comments nor in templates: V8 keeps other sources at two bytes a character.
    minifyWhitespace: true,
    lineLimit: 120,
    supported: { 'template-literal': false },
    // For packages that are CommonJS.
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
