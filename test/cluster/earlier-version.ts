/** An earlier version of this project, to run beside this one. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const projectFolder = fileURLToPath(new URL('../..', import.meta.url));

const git = (...args: string[]) => execFileSync('git', args, { cwd: projectFolder, encoding: 'utf8' }).trim();

/** The newest release with an older schema, or if there is none, the version before the newest migration. */
function earlierCommit(): string {
  const lastMigration = git('log', '-1', '--format=%H', '--diff-filter=A', '--', 'drizzle/*.sql');
  if (lastMigration === '')
    throw new Error('The Git history contains no migration. Clone the repository with its full history.');
  const before = `${lastMigration}^`;
  const release = git('tag', '--list', 'v*', '--merged', before, '--sort=-version:refname').split('\n')[0];
  return release || before;
}

/**
 * Extracts the earlier version into a subfolder of `folder`, with this version's dependencies. The environment variable
 * `EARLIER_VERSION` selects another commit.
 *
 * @returns the project folder of the earlier version
 * @throws Error if the Git history contains no earlier version
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
