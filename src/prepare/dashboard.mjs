import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Failure, withProgress } from './console.mjs';
import { installStep } from './install.mjs';
import { collect } from './process.mjs';
import { contentHash, readStamp } from './sources.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const sources = 'src/dashboard';
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
  const installation = installStep({ root, folder: sources, scope: 'serve' });

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

const sourcesHash = (root) => contentHash(root, [sources], [`${sources}/node_modules`]);

async function build(root, output) {
  const home = path.join(root, sources);
  const program = path.join(home, 'node_modules/vite/bin/vite.js');
  const args = [program, 'build', '--outDir', output, '--emptyOutDir', '--logLevel', 'warn'];
  const env = { ...process.env, NODE_ENV: 'production' };
  const result = await collect(process.execPath, args, { cwd: home, env });
  if (result.code !== 0) {
    throw new Failure(
      `${result.output.trim()}\nThe dashboard does not build: mend the lines above, then run this again.`,
    );
  }
}

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

/** Once and as small as it gets, so that serving compresses nothing. Fonts and pictures are compressed already. */
async function compress(folder) {
  const names = fs.readdirSync(folder, { recursive: true }).filter((name) => /\.(js|css|svg)$/.test(name));
  await Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name);
      const content = fs.readFileSync(file);
      fs.writeFileSync(`${file}.br`, await brotli(content));
      fs.writeFileSync(`${file}.gz`, await gzip(content, { level: 9 }));
    }),
  );
}
