import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * Hashes the names and contents of all sources of a build. Unlike file times, the hash works with any git checkout.
 *
 * @param {string} root
 * @param {string[]} sources files and folders, from `root`; missing ones count as empty
 * @param {string[]} [except] files and folders to ignore
 */
export function contentHash(root, sources, except = []) {
  const hash = createHash('sha256');
  for (const file of sourceFiles(root, sources, except)) {
    const content = fs.readFileSync(path.join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** The files that `contentHash` reads, as paths from `root`. */
export const sourceFiles = (root, sources, except = []) =>
  sources.flatMap((source) => filesUnder(root, source, except));

function filesUnder(root, name, except) {
  if (except.includes(name)) return [];
  const found = fs.statSync(path.join(root, name), { throwIfNoEntry: false });
  if (!found) return [];
  if (!found.isDirectory()) return [name];
  return fs
    .readdirSync(path.join(root, name))
    .sort()
    .flatMap((inner) => filesUnder(root, `${name}/${inner}`, except));
}

/** The stamp of a built folder. Undefined if it has none. */
export function readStamp(folder, stampName) {
  try {
    return fs.readFileSync(path.join(folder, stampName), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
