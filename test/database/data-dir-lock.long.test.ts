import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { askHolder, DataDirError, lockDataDir } from '../../src/database/data-dir-lock.ts';
import { typescriptLoader } from '../support/loader.ts';

const holderScript = fileURLToPath(new URL('../support/data-dir-holder.ts', import.meta.url));
const noCommands = () => Promise.reject(new Error('no commands'));

/** A process that locks folders on command. */
async function startHolder(t: Test) {
  const child = spawn(process.execPath, [typescriptLoader, holderScript], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => (await lines.next()).value ?? '';
  const tell = (line: string) => {
    child.stdin.write(`${line}\n`);
    return nextLine();
  };
  await nextLine();
  return {
    take: (folder: string) => tell(`take ${folder}`),
    release: () => tell('release'),
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** A folder with a socket that a killed process left behind. */
async function folderOfDeadSocket(t: Test): Promise<string> {
  // A short path, because this socket is not created by the code under test.
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const server = createServer().listen(join(folder, 'dying'));
  await once(server, 'listening');
  renameSync(join(folder, 'dying'), join(folder, 'parley-dead-00.sock'));
  await new Promise((resolve) => server.close(resolve));
  return folder;
}

const socketsIn = (folder: string) => readdirSync(folder).filter((name) => name.includes('.sock'));

t.test('a second process on a folder fails with one line that names the folder and the fix', async (t) => {
  const folder = join(t.testdir(), 'data');
  const [first, second] = await Promise.all([startHolder(t), startHolder(t)]);
  t.equal(await first.take(folder), 'holding', 'the first process creates the folder');
  const refusal = `DataDirError: DATA_DIR ${folder} is in use by another process. Stop that process, or set DATA_DIR to another directory.`;
  t.equal(await second.take(folder), refusal);
  t.equal(socketsIn(folder).length, 1, 'the second process leaves no socket behind');
  await t.rejects(lockDataDir(folder, noCommands), DataDirError, 'this process is refused too');
});

t.test('a released folder can be locked again', async (t) => {
  const folder = t.testdir();
  const first = await startHolder(t);
  await first.take(folder);
  t.equal(await first.release(), 'released');
  t.strictSame(socketsIn(folder), []);
  const lock = await lockDataDir(folder, noCommands);
  await lock.release();
  t.strictSame(socketsIn(folder), []);
});

t.test('after kill -9, the next process locks the folder, and the dead socket is removed', async (t) => {
  const folder = t.testdir();
  const [first, second] = await Promise.all([startHolder(t), startHolder(t)]);
  await first.take(folder);
  await first.kill();
  t.equal(socketsIn(folder).length, 1);
  t.equal(await second.take(folder), 'holding');
  t.equal(socketsIn(folder).length, 1);
});

t.test(
  'of many processes that start concurrently on a dead socket, exactly one locks the folder',
  async (t) => {
    const starters = await Promise.all(Array.from({ length: 5 }, () => startHolder(t)));
    for (let round = 0; round < 20; round++) {
      const folder = await folderOfDeadSocket(t);
      const outcomes = await Promise.all(starters.map(({ take }) => take(folder)));
      t.equal(outcomes.filter((line) => line === 'holding').length, 1, `round ${round}`);
      t.equal(outcomes.filter((line) => line.includes('is in use by another process')).length, 4);
      t.equal(socketsIn(folder).length, 1);
      await Promise.all(starters.map(({ release }) => release()));
    }
  },
);

t.test('of many concurrent attempts within one process, exactly one locks the folder', async (t) => {
  for (let round = 0; round < 10; round++) {
    const folder = t.testdir();
    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, () => lockDataDir(folder, noCommands)),
    );
    const locks = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
    t.equal(locks.length, 1, `round ${round}`);
    await Promise.all(locks.map(({ release }) => release()));
    t.strictSame(socketsIn(folder), []);
  }
});

t.test('a paused process keeps its folder', async (t) => {
  const folder = t.testdir();
  const first = await startHolder(t);
  await first.take(folder);
  first.signal('SIGSTOP');
  await t.rejects(lockDataDir(folder, noCommands), { message: /is in use by another process/ });
});

t.test(
  'a folder whose path is too long for a socket is locked, under its short and its long name',
  async (t) => {
    const root = t.testdir();
    const folder = join(root, 'a-folder-with-a-long-name'.repeat(4), 'and-another-one'.repeat(6));
    const lock = await lockDataDir(folder, async (name) => [name]);
    t.teardown(() => lock.release());
    t.equal(socketsIn(folder).length, 1, 'the socket is in the folder, where other containers can see it');
    const short = join(root, 'short');
    symlinkSync(folder, short);
    for (const name of [folder, short, relative(process.cwd(), short)]) {
      await t.rejects(lockDataDir(name, noCommands), DataDirError);
      t.strictSame(await askHolder(name, 'hello', []), ['hello']);
    }
    t.match(await (await startHolder(t)).take(folder), /is in use by another process/);
  },
);

t.test('a path that is not a directory fails with one line', async (t) => {
  const root = t.testdir({ file: 'not a folder' });
  await t.rejects(lockDataDir(join(root, 'file'), noCommands), {
    name: 'DataDirError',
    message: /cannot be used: it is not a directory \(EEXIST\)\. Set DATA_DIR to another directory\.$/,
  });
  await t.rejects(lockDataDir(join(root, 'file', 'below'), noCommands), {
    message: /it is not a directory \(ENOTDIR\)\. /,
  });
});

t.test('a folder that this user cannot write to fails with "permission denied"', async (t) => {
  const folder = join(t.testdir(), 'data');
  mkdirSync(folder, { mode: 0o500 });
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    await t.rejects(lockDataDir(folder, noCommands), {
      name: 'DataDirError',
      message: /permission denied \(EACCES\)\. /,
    });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

t.test(
  'a folder that another user has locked fails with "permission denied"',
  { skip: process.geteuid?.() !== 0 && 'only root can switch users' },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-'));
    chmodSync(folder, 0o777);
    const lock = await lockDataDir(folder, noCommands);
    t.teardown(() => rmSync(folder, { recursive: true }));
    process.seteuid?.(65534);
    try {
      const refusal = { name: 'DataDirError', message: /permission denied \(EACCES\)\. / };
      await t.rejects(lockDataDir(folder, noCommands), refusal);
      await t.rejects(askHolder(folder, 'greet', []), refusal);
    } finally {
      process.seteuid?.(0);
      await lock.release();
    }
    t.strictSame(socketsIn(folder), [], 'no socket is left behind');
  },
);

t.test(
  'commands reach the process that has locked the folder, and its errors are returned unchanged',
  async (t) => {
    const folder = t.testdir();
    t.equal(await askHolder(folder, 'greet', []), undefined, 'no process has locked the folder');
    t.equal(await askHolder(join(folder, 'nowhere'), 'greet', []), undefined, 'the folder does not exist');
    const first = await startHolder(t);
    await first.take(folder);
    t.strictSame(await askHolder(folder, 'greet', ['one', 'two']), ['greet one,two', 'second line']);
    await t.rejects(askHolder(folder, 'fail', []), { message: 'It cannot be done.' });
    await first.kill();
    t.equal(await askHolder(folder, 'greet', []), undefined, 'the process is dead');
  },
);

t.test('only its owner can access the socket, and unrelated files are not touched', async (t) => {
  const folder = t.testdir();
  writeFileSync(join(folder, 'notes.sock'), '');
  const lock = await lockDataDir(folder, noCommands);
  const [own = ''] = socketsIn(folder).filter((name) => name.startsWith('parley-'));
  t.equal(statSync(join(folder, own)).mode & 0o777, 0o600);
  await lock.release();
  t.strictSame(socketsIn(folder), ['notes.sock']);
});
