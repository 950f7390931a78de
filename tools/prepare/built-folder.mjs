import fs from 'node:fs';
import path from 'node:path';
import { withProgress } from './console.mjs';
import { readStamp } from './sources.mjs';
import { moveIntoPlace, removeQuietly, unfinishedFolder } from './work-folder.mjs';

const stampName = '.built-from';

/**
 * A step that builds a whole folder. It is done if the stamp in the folder matches the hash of the sources. The build
 * writes to a temporary folder, which moves into place when complete.
 *
 * @param {object} options
 * @param {string} options.root
 * @param {string} options.folder from `root`
 * @param {string} options.title shown during the build
 * @param {() => string} options.hash of the sources
 * @param {(output: string) => Promise<void>} options.build writes to a folder that does not exist yet
 */
export function builtFolderStep({ root, folder, title, hash, build }) {
  const target = path.join(root, folder);

  const isDone = () => readStamp(target, stampName) === hash();

  async function run() {
    await withProgress(title, async () => {
      const work = unfinishedFolder(root, path.basename(folder));
      const output = path.join(work, path.basename(folder));
      try {
        const builtFrom = hash();
        await build(output);
        fs.writeFileSync(path.join(output, stampName), builtFrom);
        fs.mkdirSync(path.dirname(target), { recursive: true });
        moveIntoPlace(root, output, target);
      } finally {
        removeQuietly(work);
      }
    });
  }

  return { isDone, run };
}
