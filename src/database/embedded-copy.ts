/**
 * Copies the files of the embedded database in its thread, synchronously. No statement runs meanwhile. The copy
 * therefore equals the state after a crash at that moment, and recovers in the same way.
 */
import { constants, cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';

export type CopyOrder = { copyTo: string; answerTo: MessagePort };
export type CopyAnswer = { bytes: number; ms: number } | { problem: string };

/** Whether the path is a process's local socket. */
const isSocket = (path: string) => /^\.?parley-.*\.sock$/.test(basename(path));

const sizeOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0);

function copy(from: string, to: string): CopyAnswer {
  if (existsSync(to) && readdirSync(to).length > 0)
    return { problem: `${to} is not empty. Use a new folder.` };
  const start = performance.now();
  mkdirSync(to, { recursive: true, mode: 0o700 });
  cpSync(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => !isSocket(path),
  });
  return { bytes: sizeOf(to), ms: performance.now() - start };
}

export function copyFiles(dataDir: string, { answerTo, copyTo }: CopyOrder): void {
  let answer: CopyAnswer;
  try {
    answer = copy(dataDir, copyTo);
  } catch (error) {
    answer = { problem: `The files could not be copied: ${(error as Error).message}` };
  }
  answerTo.postMessage(answer);
  answerTo.close();
}
