// Access to the files of the embedded database: reliability test 70. Contract section 11.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { lockDataDir } from '../../src/database/data-dir-lock.ts';
import { failToStart, startProcess } from '../support/process.ts';
import { freshDatabase } from '../support/service.ts';

const noCommands = () => Promise.reject(new Error('no commands'));
const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;

/** The folder and its contents that other users can access. */
function openTo(folder: string): string[] {
  const mode = (path: string) => lstatSync(path).mode & 0o777;
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return [folder, ...names.map((name) => join(folder, name))]
    .filter((path) => !lstatSync(path).isSymbolicLink() && (mode(path) & 0o077) !== 0)
    .map((path) => `${mode(path).toString(8)} ${path}`);
}

/** A folder in a location that every user can access. */
function publicFolder(t: Test, mode: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, mode);
  return folder;
}

t.test(
  '70: in an existing folder with mode 0755, other users lose access to the folder and all its files',
  async (t) => {
    const { drop, env } = await freshDatabase('embedded');
    t.teardown(() => drop());
    const dataDir = String(env.DATA_DIR);
    execFileSync('chmod', ['-R', 'a+rwX', dataDir]);
    chmodSync(dataDir, 0o755);
    const { child, end } = await startProcess(t, { ...env, LOG_LEVEL: 'silent' });
    t.ok(child.pid);
    t.same(openTo(dataDir), [], 'while the service runs, including its socket');
    t.same(await end('SIGINT'), { code: 0, signal: null });
    t.same(openTo(dataDir), [], 'after the service stops');
  },
);

t.test(
  '70: in an existing empty folder with mode 0777, other users have no access to the new database',
  async (t) => {
    const dataDir = publicFolder(t, 0o777);
    const { end } = await startProcess(t, { DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
    t.ok(readdirSync(dataDir).includes('PG_VERSION'));
    t.same(openTo(dataDir), []);
    await end('SIGINT');
  },
);

t.test('70: the target of a symbolic link is not changed', async (t) => {
  const dataDir = publicFolder(t, 0o755);
  const elsewhere = publicFolder(t, 0o755);
  symlinkSync(elsewhere, join(dataDir, 'link'));
  const lock = await lockDataDir(dataDir, noCommands);
  t.equal(lstatSync(elsewhere).mode & 0o777, 0o755);
  await lock.release();
});

t.test(
  '70: a folder of another user is used only if others cannot access it',
  { skip: !isRoot && 'only root can give a folder to another user' },
  async (t) => {
    const folder = publicFolder(t, 0o777);
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'notes'), '');
    chownSync(dataDir, NOBODY, NOBODY);

    await t.test('a folder that others can access is refused with one line, and not changed', async (t) => {
      for (const mode of [0o777, 0o755, 0o701]) {
        chmodSync(dataDir, mode);
        const { code, output } = await failToStart(t, { DATA_DIR: dataDir });
        t.equal(code, 1);
        t.equal(
          output,
          `DATA_DIR ${dataDir} is accessible to every user of this machine (mode ${mode.toString(8)}), and this user cannot change that. Run "chmod 700" on it as its owner, or set DATA_DIR to another directory.\n`,
        );
        t.equal(lstatSync(dataDir).mode & 0o777, mode);
        t.same(readdirSync(dataDir), ['notes'], 'nothing is written');
      }
    });

    await t.test('a folder that only its owner and its group can access is accepted', async (t) => {
      chmodSync(dataDir, 0o770);
      const lock = await lockDataDir(dataDir, noCommands);
      t.equal(lstatSync(dataDir).mode & 0o777, 0o770);
      await lock.release();
    });
  },
);
