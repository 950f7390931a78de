import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { follow, makeCheckout } from './checkout.ts';

t.test('make without a target lists each target with a description', async (t) => {
  const { stdout } = spawnSync('make', { encoding: 'utf8', cwd: new URL('../..', import.meta.url) });
  for (const target of [
    'help',
    'start',
    'dev',
    'test',
    'test-long',
    'test-runtime',
    'flaky',
    'check',
    'sdk',
    'openapi',
    'migrations',
  ]) {
    t.match(stdout, new RegExp(`^  make ${target} +[A-Z].*\\.$`, 'm'));
  }
});

// util-linux's `script` runs the command in a pseudoterminal and forwards input. On other systems, `script` differs.
const skip = process.platform !== 'linux' && 'needs the `script` of util-linux';

t.test(
  "make start: Ctrl-C shuts down the server gracefully, and make's exit code tells whether the server failed",
  { skip },
  async (t) => {
    const checkout = makeCheckout();
    t.teardown(checkout.remove);
    for (const [code, line] of [
      [0, /make exited with 0/],
      [3, /Error 3[\s\S]*make exited with 2/],
    ] as const) {
      const source = checkout.read('src/main.ts').replace('process.exit(0)', `process.exit(${code})`);
      checkout.write('src/main.ts', source);
      await checkout.start('serve').ended;
      const terminal = spawn(
        'script',
        ['-qec', 'unset NODE_OPTIONS; LC_ALL=C make start; echo "make exited with $?"', '/dev/null'],
        { cwd: checkout.folder, stdio: ['pipe', 'pipe', 'pipe'] },
      );
      let output = '';
      terminal.stdout.on('data', (chunk) => (output += chunk));
      const run = follow(terminal);
      for (let waited = 0; !output.includes('serving') && waited < 15_000; waited += 50) await sleep(50);
      terminal.stdin.write('\x03');
      const end = await run.ended;
      t.match(end.output, 'draining');
      t.match(end.output, line);
    }
  },
);
