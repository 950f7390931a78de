import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure, withProgress } from './console.mjs';
import { collect } from './process.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const sources = ['src', 'schemas', 'drizzle', 'docs/guides', 'package.json', 'package-lock.json'];
const stampName = '.built-from';

/**
 * The step that compiles the sources to `dist/` (layout: `dist/src/main.js`, `dist/schemas/…`). It is done while the
 * stamp in there names the sources by their content, so a git checkout with odd times builds neither too often nor too
 * rarely. The compiler writes to a folder of its own, which is moved into place when it is whole.
 *
 * @param {{ root: string }} options
 */
export function buildStep({ root }) {
  const target = path.join(root, 'dist');

  function isDone() {
    try {
      return fs.readFileSync(path.join(target, stampName), 'utf8') === sourcesHash(root);
    } catch (error) {
      if (error.code === 'ENOENT') return false;
      throw error;
    }
  }

  async function run(lock) {
    await withProgress('Building', async () => {
      const work = unfinishedFolder(root, 'build');
      const output = path.join(work, 'dist');
      try {
        const hash = sourcesHash(root);
        await compile(output);
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

  return { isDone, run };
}

/** One hash over names and contents of everything that the build is made from. */
function sourcesHash(root) {
  const hash = createHash('sha256');
  const configurations = fs.readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  for (const source of [...sources, ...configurations]) {
    for (const file of filesUnder(path.join(root, source))) {
      const content = fs.readFileSync(file);
      hash.update(`${path.relative(root, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest('hex');
}

function filesUnder(target) {
  const found = fs.statSync(target, { throwIfNoEntry: false });
  if (!found) return [];
  if (!found.isDirectory()) return [target];
  return fs
    .readdirSync(target)
    .sort()
    .flatMap((name) => filesUnder(path.join(target, name)));
}
