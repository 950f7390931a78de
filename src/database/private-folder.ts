import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER_MODE = 0o700;
/** The permissions of group and others. */
const NOT_OWNER = 0o077;
const OTHERS = 0o007;

/** Undefined on Windows, which does not have these owners and modes. */
const uid = process.geteuid?.();

/**
 * Closes a directory to everyone but its owner. Another user's directory, such as a mounted volume, may stay open to
 * its group. Returns the mode if others still have access.
 */
export async function closeFolder(folder: string): Promise<string | undefined> {
  if (uid === undefined) return undefined;
  const before = await stat(folder);
  if (before.uid === uid && (before.mode & NOT_OWNER) !== 0) {
    // Some file systems ignore modes, so the result is checked below.
    await chmod(folder, FOLDER_MODE).catch(() => {});
  }
  const { mode } = await stat(folder);
  return (mode & OTHERS) === 0 ? undefined : (mode & 0o777).toString(8);
}

/** Revokes access by group and others to this user's files. Synchronous, which takes a fifth of the time. */
export function closeContents(folder: string): void {
  if (uid === undefined) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.uid !== uid) continue;
    if (found.isDirectory()) closeContents(path);
    // On a symbolic link, chmod would change the target.
    if (!found.isSymbolicLink() && (found.mode & NOT_OWNER) !== 0) closeFile(path, found.mode);
  }
}

function closeFile(path: string, mode: number): void {
  try {
    chmodSync(path, mode & ~NOT_OWNER & 0o777);
  } catch {
    // Some file systems ignore modes, and a file may have disappeared.
  }
}
