import fs from 'node:fs';
import path from 'node:path';
import { Failure, withProgress } from './console.mjs';
import { collect } from './process.mjs';
import { contentHash, readStamp } from './sources.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const sources = [
  'src',
  'src/dashboard/paths.ts',
  'schemas',
  'drizzle',
  'docs/guides',
  'package.json',
  'package-lock.json',
];
/** Built by steps of their own, into folders that this one leaves as they are. */
const builtApart = ['dashboard', 'reference'];
/** The SDK is built with the dashboard. */
const dashboardSources = ['src/dashboard', 'src/sdk'];
const stampName = '.built-from';

/**
 * The step that compiles the sources to `dist/` (layout: `dist/src/main.js`, `dist/schemas/…`). It is done while the
 * stamp in there names the sources by their content. The compiler writes to a folder of its own, which is moved into
 * place when it is whole.
 *
 * @param {{ root: string }} options
 */
export function buildStep({ root }) {
  const target = path.join(root, 'dist');

  const isDone = () => readStamp(target, stampName) === sourcesHash(root);

  async function run(lock) {
    await withProgress('Building', async () => {
      const work = unfinishedFolder(root, 'build');
      const output = path.join(work, 'dist');
      try {
        const hash = sourcesHash(root);
        await compile(output);
        keepBuiltApart(output);
        fs.writeFileSync(path.join(output, stampName), hash);
        lock.assertHeld();
        moveIntoPlace(root, output, target);
      } finally {
        removeQuietly(work);
      }
    });
  }

  async function compile(outDir) {
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    // Types are checked by `make check`; to only drop them, no file of any dependency has to be read (--noResolve).
    const args = [compiler, '-p', 'tsconfig.build.json', '--noResolve', '--outDir', outDir];
    const result = await collect(process.execPath, args, { cwd: root });
    if (result.code !== 0) {
      throw new Failure(
        `${result.output.trim()}\nThe sources do not compile: mend the lines above, then run this again.`,
      );
    }
  }

  function keepBuiltApart(output) {
    for (const name of builtApart) {
      const built = path.join(target, name);
      if (fs.existsSync(built)) fs.cpSync(built, path.join(output, name), { recursive: true });
    }
  }

  return { isDone, run };
}

function sourcesHash(root) {
  const configurations = fs.readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  return contentHash(root, [...sources, ...configurations], dashboardSources);
}
