import path from 'node:path';
import { builtFolderStep } from './built-folder.mjs';
import { compress } from './compress.mjs';
import { Failure } from './console.mjs';
import { installStep } from './install.mjs';
import { collect } from './process.mjs';
import { contentHash } from './sources.mjs';

const home = 'src/dashboard';
/** The build includes the SDK (with dependencies from the root lock file), the rule for origins, and the key limits. */
const sources = [home, 'src/sdk', 'src/domain/origins.ts', 'schemas/key-limits.ts', 'package-lock.json'];

/**
 * The step that builds the dashboard to `dist/dashboard`, with a compressed copy of each file. Build dependencies are
 * installed only if there is something to build.
 *
 * @param {{ root: string }} options
 */
export function dashboardStep({ root }) {
  const installation = installStep({ root, folder: home, scope: 'serve' });
  const building = builtFolderStep({
    root,
    folder: 'dist/dashboard',
    title: 'Building the dashboard',
    hash: () => contentHash(root, sources, [`${home}/node_modules`]),
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
