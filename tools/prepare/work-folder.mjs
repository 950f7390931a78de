import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * `.prepare/`, where the lock and everything unfinished lives. It is on the same file system as the checkout, so that
 * what is finished can be moved into place by one rename, and it ignores itself in git.
 */
export function workFolder(root) {
  const folder = path.join(root, '.prepare');
  fs.mkdirSync(folder, { recursive: true });
  const ignore = path.join(folder, '.gitignore');
  if (!fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n');
  return folder;
}

/** A new folder of this run's own; a run that was killed can leave it behind, but nothing ever reads it again. */
export function unfinishedFolder(root, kind) {
  const folder = path.join(workFolder(root), `unfinished-${kind}-${randomBytes(6).toString('hex')}`);
  fs.mkdirSync(folder);
  return folder;
}

/**
 * Puts a finished folder in its place. A process that reads the old one sees either all of the old or all of the new,
 * but for the instant between the two renames.
 */
export function moveIntoPlace(root, finished, target) {
  const old = unfinishedFolder(root, 'old');
  if (fs.existsSync(target)) fs.renameSync(target, path.join(old, path.basename(target)));
  fs.renameSync(finished, target);
  removeQuietly(old);
}

/** Removes what runs that were killed have left. Call it with the lock held: then nothing unfinished is in use. */
export function removeLeftovers(root) {
  const folder = workFolder(root);
  for (const name of fs.readdirSync(folder)) {
    if (name.startsWith('unfinished-')) removeQuietly(path.join(folder, name));
  }
}

/** Removes a folder as far as possible: an orphaned npm may still be writing to it, and the next run tries again. */
export function removeQuietly(folder) {
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {}
}
