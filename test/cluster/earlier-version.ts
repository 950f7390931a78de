/** An earlier version of this project, to run beside this one. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const projectFolder = fileURLToPath(new URL('../..', import.meta.url));

const git = (...args: string[]) => execFileSync('git', args, { cwd: projectFolder, encoding: 'utf8' }).trim();

/** The newest release, or if there is none with another schema, the version before the newest migration. */
function earlierCommit(): string {
  const lastMigration = git('log', '-1', '--format=%H', '--diff-filter=A', '--', 'drizzle/*.sql');
  if (lastMigration === '') throw new Error('Git knows no migration: the clone must have its history.');
  const before = `${lastMigration}^`;
  const release = git('tag', '--list', 'v*', '--merged', before, '--sort=-version:refname').split('\n')[0];
  return release || before;
}

/**
 * Puts it into a folder of `folder`, with this version's dependencies. `EARLIER_VERSION` names another commit.
 *
 * @returns the project's folder
 * @throws Error if Git does not know an earlier version
 */
export function earlierVersion(folder: string): string {
  const commit = process.env.EARLIER_VERSION ?? earlierCommit();
  const target = path.join(folder, 'earlier-version');
  if (fs.existsSync(target)) return target;
  const archive = path.join(folder, 'earlier-version.tar');
  git('archive', '--output', archive, commit);
  fs.mkdirSync(target);
  execFileSync('tar', ['-xf', archive, '-C', target]);
  fs.rmSync(archive);
  for (const name of ['node_modules', 'dist'])
    if (fs.existsSync(path.join(projectFolder, name)))
      fs.symlinkSync(path.join(projectFolder, name), path.join(target, name));
  console.log(`  The earlier version is ${git('describe', '--always', '--tags', commit)}.`);
  return target;
}
