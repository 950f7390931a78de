import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * `.prepare/` contains unfinished work. It is on the same file system as the checkout, so that one rename moves
 * finished work into place. Its .gitignore excludes it from git.
 */
export function workFolder(root) {
  const folder = path.join(root, '.prepare');
  fs.mkdirSync(folder, { recursive: true });
  const ignore = path.join(folder, '.gitignore');
  if (!fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n');
  return folder;
}

/** Creates a new folder for this run. A killed run can leave it behind, but nothing reads it. */
export function unfinishedFolder(root, kind) {
  const folder = path.join(workFolder(root), `unfinished-${kind}-${randomBytes(6).toString('hex')}`);
  fs.mkdirSync(folder);
  return folder;
}

/**
 * Moves a finished folder into place. Except for the instant between the two renames, a reader sees either the complete
 * old folder or the complete new one.
 */
export function moveIntoPlace(root, finished, target) {
  const old = unfinishedFolder(root, 'old');
  if (fs.existsSync(target)) fs.renameSync(target, path.join(old, path.basename(target)));
  fs.renameSync(finished, target);
  removeQuietly(old);
}

/** Removes the leftovers of killed runs. Call it while holding the lock, so that no leftover is in use. */
export function removeLeftovers(root) {
  const folder = workFolder(root);
  for (const name of fs.readdirSync(folder)) {
    if (name.startsWith('unfinished-')) removeQuietly(path.join(folder, name));
  }
}

/** Removes a folder as far as possible. An orphaned npm may still be writing to it, and the next run tries again. */
export function removeQuietly(folder) {
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {}
}
