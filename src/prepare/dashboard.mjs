import fs from 'node:fs';
import path from 'node:path';
import { compress } from './compress.mjs';
import { Failure, withProgress } from './console.mjs';
import { installStep } from './install.mjs';
import { collect } from './process.mjs';
import { contentHash, readStamp } from './sources.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const home = 'src/dashboard';
/** It is built with the SDK, whose dependencies are the checkout's own, and the rule for origins. */
const sources = [home, 'src/sdk', 'src/domain/origins.ts', 'package-lock.json'];
const stampName = '.built-from';

/**
 * The step that builds the dashboard to `dist/dashboard`, with each file also compressed beside itself. It is done while
 * the stamp in there names the sources by their content; what building needs is installed only when there is something
 * to build.
 *
 * @param {{ root: string }} options
 */
export function dashboardStep({ root }) {
  const target = path.join(root, 'dist/dashboard');
  const installation = installStep({ root, folder: home, scope: 'serve' });

  const isDone = () => readStamp(target, stampName) === sourcesHash(root);

  async function run(lock) {
    if (!installation.isDone()) await installation.run(lock);
    await withProgress('Building the dashboard', async () => {
      const work = unfinishedFolder(root, 'dashboard');
      const output = path.join(work, 'dashboard');
      try {
        const hash = sourcesHash(root);
        await build(root, output);
        await compress(output);
        fs.writeFileSync(path.join(output, stampName), hash);
        lock.assertHeld();
        fs.mkdirSync(path.dirname(target), { recursive: true });
        moveIntoPlace(root, output, target);
      } finally {
        removeQuietly(work);
      }
    });
  }

  return { isDone, run };
}

const sourcesHash = (root) => contentHash(root, sources, [`${home}/node_modules`]);

async function build(root, output) {
  const cwd = path.join(root, home);
  const program = path.join(cwd, 'node_modules/vite/bin/vite.js');
  const args = [program, 'build', '--outDir', output, '--emptyOutDir', '--logLevel', 'warn'];
  const env = { ...process.env, NODE_ENV: 'production' };
  const result = await collect(process.execPath, args, { cwd, env });
  if (result.code !== 0) {
    throw new Failure(
      `${result.output.trim()}\nThe dashboard does not build: mend the lines above, then run this again.`,
    );
  }
}
