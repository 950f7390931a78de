import fs from 'node:fs';
import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { Failure } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash } from './sources.mjs';

const sources = [
  'src',
  'src/dashboard/colors.ts',
  'src/dashboard/paths.ts',
  'schemas',
  'drizzle',
  'docs/guides',
  'package.json',
  'package-lock.json',
];
/** Separate steps build these folders, and this step keeps them. */
const builtApart = ['dashboard', 'reference', 'new-database'];
/** The SDK is built with the dashboard. */
const dashboardSources = ['src/dashboard', 'src/sdk'];

/**
 * The step that compiles the sources to `dist/` (layout: `dist/src/main.js`, `dist/schemas/…`).
 *
 * @param {{ root: string }} options
 */
export const buildStep = ({ root }) =>
  builtFolderStep({
    root,
    folder: 'dist',
    title: 'Building',
    hash: () => sourcesHash(root),
    async build(output) {
      await compile(root, output);
      keepBuiltApart(root, output);
    },
  });

async function compile(root, outDir) {
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  // `make check` checks types. Stripping them needs no files of dependencies (--noResolve).
  const args = [compiler, '-p', 'tsconfig.build.json', '--noResolve', '--outDir', outDir];
  const result = await collect(process.execPath, args, { cwd: root });
  if (result.code !== 0) {
    throw new Failure(
      `${result.output.trim()}\nThe sources do not compile: fix the errors above, then run this again.`,
    );
  }
}

function keepBuiltApart(root, output) {
  for (const name of builtApart) {
    const built = path.join(root, 'dist', name);
    if (fs.existsSync(built)) fs.cpSync(built, path.join(output, name), { recursive: true });
  }
}

function sourcesHash(root) {
  const configurations = fs.readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  return contentHash(root, [...sources, ...configurations], dashboardSources);
}
