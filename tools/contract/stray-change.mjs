import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const released = 'tools/contract/released.json';

/**
 * Looks at the last change to `released.json`, committed or not: it has to come with another version in package.json, as
 * a release does.
 *
 * @param {string} root of the checkout
 * @returns {string | undefined} where it did not; undefined also without git, and where the file has only one state
 */
export function strayChange(root) {
  const read = (commit, file) =>
    commit ? git(root, 'show', `${commit}:${file}`) : fs.readFileSync(path.join(root, file), 'utf8');
  const head = git(root, 'rev-parse', 'HEAD')?.trim();
  if (head === undefined) return undefined;
  const isCommitted = read(head, released) === read(undefined, released);
  const after = isCommitted ? git(root, 'log', '-1', '--format=%h', '--', released)?.trim() : undefined;
  const before = isCommitted ? after && `${after}^` : head;
  if (!before || read(before, released) === undefined) return undefined;
  const version = (commit) => JSON.parse(read(commit, 'package.json') ?? '{}').version;
  if (version(before) !== version(after)) return undefined;
  return `${released} was changed ${after ? `by commit ${after}` : 'just now'}, which is no release: the version in package.json stayed ${version(after)}.`;
}

/** What git prints; undefined where it fails, as it does outside of a repository. */
function git(root, ...args) {
  try {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1e8,
    });
  } catch {
    return undefined;
  }
}
