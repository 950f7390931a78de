// The document of the last release changes only in a release.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';

const { strayChange } = await import(new URL('../../tools/contract/stray-change.mjs', import.meta.url).href);

const root = mkdtempSync(join(tmpdir(), 'parley-release-'));
t.teardown(() => rmSync(root, { recursive: true }));
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args], { cwd: root });
function commit(document: string, version: string) {
  writeFileSync(join(root, 'tools/contract/released.json'), document);
  writeFileSync(join(root, 'package.json'), JSON.stringify({ version }));
  git('add', '.');
  git('commit', '-q', '--no-gpg-sign', '-m', 'A change');
}

t.test('a change to the released document that is not a release is reported', async (t) => {
  mkdirSync(join(root, 'tools/contract'), { recursive: true });
  writeFileSync(join(root, 'tools/contract/released.json'), 'a');
  t.equal(strayChange(root), undefined, 'without a Git repository, nothing is reported');
  git('init', '-q');
  commit('a', '1.0.0');
  t.equal(strayChange(root), undefined, 'the first commit');
  commit('b', '1.1.0');
  t.equal(strayChange(root), undefined, 'a release');
  writeFileSync(join(root, 'tools/contract/released.json'), 'c');
  t.match(
    strayChange(root),
    /just now, which is not a release: the version in package.json is still 1\.1\.0/,
  );
  commit('c', '1.1.0');
  t.match(strayChange(root), /by commit [0-9a-f]+, which is not a release/);
  commit('c', '1.2.0');
  t.match(strayChange(root), /by commit/, 'a later version does not make the change a release');
  commit('d', '1.3.0');
  t.equal(strayChange(root), undefined, 'the next release replaces the change');
});
