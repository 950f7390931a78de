/** A folder that only its owner reads and writes, with all that is in it. Contract section 11. */
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER_MODE = 0o700;
/** What group and others may do. */
const NOT_OWNER = 0o077;
const OTHERS = 0o007;

/** Windows has neither owners nor modes of this kind. */
const uid = process.geteuid?.();

/**
 * Closes a folder for everybody but its owner. One that belongs to another user, such as a mounted volume, cannot be
 * closed; it will do where only its owner and its group have access.
 *
 * @returns the folder's mode where others have access all the same; else undefined
 */
export async function closeFolder(folder: string): Promise<string | undefined> {
  if (uid === undefined) return undefined;
  const before = await stat(folder);
  if (before.uid === uid && (before.mode & NOT_OWNER) !== 0) {
    // Some file systems have one mode for all, or none; what counts is what it is afterwards.
    await chmod(folder, FOLDER_MODE).catch(() => {});
  }
  const { mode } = await stat(folder);
  return (mode & OTHERS) === 0 ? undefined : (mode & 0o777).toString(8);
}

/** Takes from group and others what they may do with the files and folders in a folder, where they are this user's. */
export async function closeContents(folder: string): Promise<void> {
  if (uid === undefined) return;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined || found.uid !== uid) continue;
    if (found.isDirectory()) await closeContents(path);
    // Of a symbolic link the mode is that of what it leads to.
    if (!found.isSymbolicLink() && (found.mode & NOT_OWNER) !== 0)
      await chmod(path, found.mode & ~NOT_OWNER & 0o777).catch(() => {});
  }
}
