import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type PoolOptions, runFiles } from './pool.ts';
import { Report } from './report.ts';
import { calledOnRoot } from './root-methods.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs test files with these contents. Returns the printed lines without the times. */
async function run(
  contents: Record<string, string>,
  { needs = () => 'nothing', processes = 1 }: Partial<Pick<PoolOptions, 'needs' | 'processes'>> = {},
): Promise<string[]> {
  // Inside the project, so that the files can import tap.
  mkdirSync(path.join(root, '.tap'), { recursive: true });
  const folder = mkdtempSync(path.join(root, '.tap/pool-'));
  try {
    const files = Object.entries(contents).map(([name, content]) => {
      const file = path.join(folder, name);
      writeFileSync(file, `import t from 'tap';\n${content}`);
      return file;
    });
    const lines: string[] = [];
    const report = new Report((line) => lines.push(line));
    await runFiles(files, report, {
      root,
      processes,
      fileTimeoutMs: 60_000,
      needs: (file) => needs(path.basename(file)),
    });
    report.finish({ seconds: 1, failOnSkip: false });
    return lines.map((line) => line.replaceAll(`${folder}/`, '').replace(/ \([\d.]+ s\)$/, ''));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The content of a file that passes if it is the `count`-th in its process. */
const isNumber = (count: number) =>
  `t.test('count', async (t) => { globalThis.count = (globalThis.count ?? 0) + 1; t.equal(globalThis.count, ${count}); });`;

t.test(
  'files share a process and run in order, and a file that needs its own process gets one',
  async (t) => {
    const files = { 'a.mjs': isNumber(1), 'b.mjs': isNumber(1), 'c.mjs': isNumber(2) };
    const lines = await run(files, { needs: (name) => (name === 'b.mjs' ? 'process' : 'nothing') });
    t.match(lines, ['✓ a.mjs: 1 passed', '✓ c.mjs: 1 passed', '✓ b.mjs: 1 passed']);
    t.equal(lines.at(-1), '3 passed, 0 failed');
  },
);

t.test('files that need the machine run last, one at a time', async (t) => {
  // Each file logs its start and end. Files that may run concurrently wait for each other.
  const log = path.join(t.testdir(), 'log');
  const script = (name: string, waitsFor: string) => `
    import fs from 'node:fs';
    const say = (what) => fs.appendFileSync(${JSON.stringify(log)}, '${name} ' + what + '\\n');
    t.test('one', async (t) => {
      say('begins');
      while (!fs.readFileSync(${JSON.stringify(log)}, 'utf8').includes('${waitsFor} begins')) await new Promise(setImmediate);
      say('ends');
    });`;
  const files = {
    'quiet-1.mjs': script('quiet-1', 'quiet-1'),
    'a.mjs': script('a', 'b'),
    'quiet-2.mjs': script('quiet-2', 'quiet-2'),
    'b.mjs': script('b', 'a'),
  };
  const lines = await run(files, {
    needs: (name) => (name.startsWith('quiet') ? 'machine' : 'nothing'),
    processes: 3,
  });
  t.equal(lines.at(-1), '4 passed, 0 failed', lines.join('\n'));
  const said = readFileSync(log, 'utf8').trim().split('\n');
  t.same(said.slice(4), ['quiet-1 begins', 'quiet-1 ends', 'quiet-2 begins', 'quiet-2 ends']);
});

t.test("a file's hooks do not run for later files, and its teardowns run before the next file", async (t) => {
  const hooks = ['before', 'beforeEach', 'afterEach', 'after', 'teardown'];
  const lines = await run({
    'a.mjs': `globalThis.seen = [];
      ${hooks.map((hook) => `t.${hook}(() => globalThis.seen.push('${hook}'));`).join('\n')}
      t.test('one', async (t) => t.pass());`,
    'b.mjs': `t.test('two', async (t) => t.strictSame(globalThis.seen.sort(), ${JSON.stringify(hooks.toSorted())}));`,
  });
  t.equal(lines.at(-1), '2 passed, 0 failed', lines.join('\n'));
});

t.test('test files call only the supported methods on the root', async (t) => {
  const allowed: readonly string[] = calledOnRoot;
  const found = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .flatMap((name) => {
      const source = readFileSync(path.join(root, 'test', name), 'utf8');
      return [...source.matchAll(/^t\.(\w+)/gm)].map(([, method = '']) => ({ name, method }));
    });
  t.ok(found.length > 500);
  t.same(
    found.filter(({ method }) => !allowed.includes(method)),
    [],
  );
});

t.test('each file has its own folder, which is removed after it', async (t) => {
  const lines = await run({
    'a.mjs': `globalThis.folder = t.testdir(); t.test('one', async (t) => t.pass());`,
    'b.mjs': `import { existsSync } from 'node:fs';
      const folder = t.testdir();
      t.test('two', async (t) => { t.not(folder, globalThis.folder); t.notOk(existsSync(globalThis.folder)); });`,
  });
  t.equal(lines.at(-1), '2 passed, 0 failed', lines.join('\n'));
});

t.test('after a file fails, the remaining files run in a new process', async (t) => {
  const lines = await run({
    'a.mjs': `t.test('fails', async (t) => t.fail('no'));`,
    'b.mjs': isNumber(1),
    'c.mjs': 'throw new Error("broken");',
    'd.mjs': isNumber(1),
  });
  t.match(lines, ['✗ a.mjs: 1 failed']);
  t.ok(lines.includes('✗ c.mjs: 1 failed'), lines.join('\n'));
  t.equal(lines.at(-1), '2 passed, 2 failed');
});

t.test('a file that ends its process fails, regardless of the exit code', async (t) => {
  const lines = await run({
    'a.mjs': `t.test('exits', async () => process.exit(0));`,
    'b.mjs': `t.test('dies', async () => process.kill(process.pid, 'SIGKILL'));`,
    'c.mjs': isNumber(1),
  });
  t.ok(lines.includes('failed: a.mjs › exits'), lines.join('\n'));
  t.ok(lines.includes('failed: b.mjs: its process ended with SIGKILL'), lines.join('\n'));
  t.equal(lines.at(-1), '1 passed, 2 failed');
});
