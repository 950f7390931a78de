import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { compress } from './compress.mjs';
import { Failure } from './console.mjs';
import { installStep } from './install.mjs';
import { collect } from './process.mjs';
import { contentHash, sourceFiles } from './sources.mjs';

const home = 'src/dashboard';
/** The sources of the build. The root lock file contains the SDK's dependencies. */
const sources = [
  home,
  'src/sdk',
  'src/domain/conversation-title.ts',
  'src/domain/origins.ts',
  'src/domain/parsed-url.ts',
  'src/domain/plain-text.ts',
  'schemas/key-limits.ts',
  'package-lock.json',
];
const installed = [`${home}/node_modules`];

/** The files whose changes trigger a build, from `root`. */
export const dashboardFiles = (root) => sourceFiles(root, sources, installed);

/**
 * The step that builds the dashboard to `dist/dashboard`, with a compressed copy of each file. Installs build
 * dependencies only if there is something to build.
 */
export function dashboardStep({ root }) {
  const installation = installStep({ root, folder: home, scope: 'serve' });
  const building = builtFolderStep({
    root,
    folder: 'dist/dashboard',
    title: 'Building the dashboard',
    hash: () => contentHash(root, sources, installed),
    async build(output) {
      await bundle(root, output);
      await compress(output);
    },
  });

  async function run(lock) {
    if (!installation.isDone()) await installation.run(lock);
    await building.run(lock);
  }

  return { isDone: building.isDone, run };
}

async function bundle(root, output) {
  const cwd = path.join(root, home);
  const program = path.join(cwd, 'node_modules/vite/bin/vite.js');
  const args = [program, 'build', '--outDir', output, '--emptyOutDir', '--logLevel', 'warn'];
  const env = { ...process.env, NODE_ENV: 'production' };
  const result = await collect(process.execPath, args, { cwd, env });
  if (result.code !== 0) {
    throw new Failure(
      `${result.output.trim()}\nThe dashboard does not build: fix the errors above, then run this again.`,
    );
  }
}
