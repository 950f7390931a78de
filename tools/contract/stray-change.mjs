import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const released = 'tools/contract/released.json';

/**
 * Checks that the last change to `released.json`, committed or not, came with a new version in package.json.
 *
 * @param {string} root of the checkout
 * @returns {string | undefined} an error message; undefined without git, or if the file has never changed
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
  return `${released} was changed ${after ? `by commit ${after}` : 'just now'}, which is not a release: the version in package.json is still ${version(after)}.`;
}

/** The output of git. Undefined if git fails, for example outside a repository. */
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
