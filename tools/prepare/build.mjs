import fs from 'node:fs';
import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { Failure } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash, sourceFiles } from './sources.mjs';

const sources = [
  'src',
  'src/dashboard/colors.ts',
  'src/dashboard/paths.ts',
  'src/dashboard/sections.ts',
  'src/dashboard/texts/en.ts',
  'schemas',
  'drizzle',
  'tools/prepare/bundle.mjs',
  'tools/prepare/programs.mjs',
  'docs/guides',
  'package.json',
  'package-lock.json',
];
/** Other steps build these folders, and this step keeps them. */
const builtApart = ['dashboard', 'reference', 'new-database'];
/** Only the files listed above are part of the service. The SDK is built with the dashboard. */
const dashboardSources = ['src/dashboard', 'src/sdk'];

/**
 * The step that compiles the sources and their packages to `dist/src`, such as `dist/src/main.js`.
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

/** Runs in a new process, because this one started before the packages were installed. `make check` checks types. */
async function compile(root, output) {
  const args = ['tools/prepare/bundle.mjs', path.join(output, 'src')];
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

/** The files whose changes trigger a build, from `root`, except for the compiler's configuration. */
export const serviceFiles = (root) => sourceFiles(root, sources, dashboardSources);

function sourcesHash(root) {
  const configurations = fs.readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  return contentHash(root, [...sources, ...configurations], dashboardSources);
}
