import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { type Checkout, makeCheckout } from './checkout.ts';

const { nodeProblem } = await import(new URL('../../tools/prepare/node-version.mjs', import.meta.url).href);

function checkoutFor(t: Test): Checkout {
  const checkout = makeCheckout();
  t.teardown(checkout.remove);
  return checkout;
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 10_000; waited += 20) await sleep(20);
}

const rendererOf = ({ folder }: Checkout) =>
  fs.readdirSync(path.join(folder, 'dist/reference')).filter((name) => name.endsWith('.js'));
const leftovers = ({ folder }: Checkout) =>
  fs.readdirSync(path.join(folder, '.prepare')).filter((name) => name.startsWith('unfinished'));

t.test('an outdated Node.js prints one line that names the required version', async (t) => {
  t.match(
    nodeProblem('18.20.4', '>=20.19'),
    /^Parley needs Node\.js 20\.19 or newer and this is 18\.20\.4: .*24.*$/,
  );
  t.ok(nodeProblem('20.18.3', '>=20.19'));
  for (const version of ['20.19.0', '22.0.0', '24.1.0', '100.0.0']) {
    t.equal(nodeProblem(version, '>=20.19'), undefined, version);
  }
});

t.test(
  'serve installs and builds once, then does nothing until a source or the lock file changes',
  async (t) => {
    const checkout = checkoutFor(t);
    t.equal((await checkout.start('serve').ended).code, 0);
    t.match(
      checkout.npmCalls(),
      [/^ci --omit=dev /, /^ci --omit=dev /],
      'one install for the service, and one for the dashboard',
    );
    t.ok(checkout.has('dist/src/main.js'));
    t.ok(checkout.has('dist/dashboard/index.html'));
    const [file = ''] = rendererOf(checkout);
    t.match(file, /^scalar-[0-9a-f]{12}\.js$/, 'the name contains a hash of the content');
    t.equal(checkout.read(`dist/reference/${file}`), 'the renderer');
    const packed = fs.readFileSync(path.join(checkout.folder, `dist/reference/${file}.gz`));
    t.equal(gunzipSync(packed).toString(), 'the renderer');
    t.ok(checkout.has(`dist/reference/${file}.br`));

    t.equal(
      checkout.read('dist/new-database/files/PG_VERSION'),
      '18',
      'an empty database that new installations copy',
    );

    const again = await checkout.start('serve').ended;
    t.same(again, { code: 0, output: '' });
    fs.utimesSync(path.join(checkout.folder, 'src/main.ts'), new Date(), new Date());
    t.same(
      await checkout.start('serve').ended,
      { code: 0, output: '' },
      'a new modification time alone does not trigger a build',
    );

    checkout.write('schemas/greeting.ts', 'export const greeting: string = "hello";');
    checkout.write(
      'src/main.ts',
      `${checkout.read('src/main.ts')}export { greeting } from '../schemas/greeting.ts';`,
    );
    t.match((await checkout.start('serve').ended).output, 'Building');
    t.match(checkout.read('dist/src/main.js'), /greeting="hello"/);
    t.ok(checkout.has('dist/dashboard/index.html'), 'the dashboard is kept');
    t.same(rendererOf(checkout), [file], 'the API reference is kept');
    t.equal(checkout.npmCalls().length, 2);

    checkout.write('package-lock.json', '{ }');
    await checkout.start('serve').ended;
    t.equal(checkout.npmCalls().length, 3);
  },
);

t.test('serve rebuilds only the dashboard when only the dashboard changes, and compresses it', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('src/dashboard/main.tsx', 'another dashboard');
  const { code, output } = await checkout.start('serve').ended;
  t.equal(code, 0);
  t.match(output, 'Building the dashboard');
  t.notMatch(output, /Building …|Installing/);
  t.equal(checkout.read('dist/dashboard/assets/index.js'), 'another dashboard');
  const packed = fs.readFileSync(path.join(checkout.folder, 'dist/dashboard/assets/index.js.gz'));
  t.equal(gunzipSync(packed).toString(), 'another dashboard');
  t.ok(checkout.has('dist/dashboard/assets/index.js.br'));
  t.same(await checkout.start('serve').ended, { code: 0, output: '' });

  fs.rmSync(path.join(checkout.folder, 'src/dashboard/node_modules'), { recursive: true });
  t.same(
    await checkout.start('serve').ended,
    { code: 0, output: '' },
    'an up-to-date build does not need the bundler',
  );
});

t.test('if the dashboard does not build, one line says so, and the previous build is kept', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('src/dashboard/main.tsx', 'broken');
  const { code, output } = await checkout.start('serve').ended;
  t.equal(code, 1);
  t.match(output.trim().split('\n').at(-1), /^The dashboard does not build: .* run this again\.$/);
  t.equal(checkout.read('dist/dashboard/index.html'), 'the dashboard');
  t.same(leftovers(checkout), []);
});

t.test('test installs the dev dependencies, and serve keeps them', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  t.notOk(checkout.has('test/clients/node_modules'));
  await checkout.start('test').ended;
  t.match(checkout.npmCalls().slice(2), [/--include=dev/, /--include=dev/]);
  t.ok(checkout.has('test/clients/node_modules'));
  await checkout.start('serve').ended;
  t.equal(checkout.npmCalls().length, 4);
  checkout.write('package-lock.json', '{ }');
  await checkout.start('serve').ended;
  t.match(checkout.npmCalls().at(-1), '--include=dev');
  t.ok(checkout.has('node_modules/tool'));
});

t.test(
  'of two concurrent runs, one installs, the other prints that it waits, and both succeed',
  async (t) => {
    const checkout = checkoutFor(t);
    const runs = [1, 2].map(() => checkout.start('serve', { NPM_BEHAVES: 'slow' }));
    const ends = await Promise.all(runs.map((run) => run.ended));
    t.same(
      ends.map((end) => end.code),
      [0, 0],
    );
    t.equal(checkout.npmCalls().length, 2);
    t.equal(ends.filter((end) => end.output.includes('waiting until it is done')).length, 1);
  },
);

t.test(
  'after a kill, a half-finished install is ignored, and the lock is released immediately',
  async (t) => {
    const checkout = checkoutFor(t);
    const killed = checkout.start('serve', { NPM_BEHAVES: 'hangs' });
    await until(() => checkout.npmCalls().length === 1);
    killed.process.kill('SIGKILL');
    t.notOk(checkout.has('node_modules'));
    const started = Date.now();
    t.equal((await checkout.start('serve').ended).code, 0);
    t.ok(Date.now() - started < 8000, 'no ten-second wait for a holder that may be alive');
    t.equal(checkout.npmCalls().length, 3);
    t.same(leftovers(checkout), []);
  },
);

t.test('Ctrl-C during an install exits immediately, cleans up, and keeps the previous install', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('package-lock.json', '{ }');
  const run = checkout.start('serve', { NPM_BEHAVES: 'hangs' });
  await until(() => checkout.npmCalls().length === 3);
  run.process.kill('SIGINT');
  const interrupted = Date.now();
  const { code, output } = await run.ended;
  t.equal(code, 130);
  t.ok(Date.now() - interrupted < 10_000, "exits before npm's child process, which runs for 30 seconds");
  t.match(output, 'Interrupted.');
  t.same(leftovers(checkout), []);
  t.ok(checkout.has('node_modules/esbuild'));
});

t.test('if the registry is unreachable, one line says so, and the previous install is kept', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('package-lock.json', '{ }');
  const { code, output } = await checkout.start('serve', { NPM_BEHAVES: 'offline' }).ended;
  t.equal(code, 1);
  t.match(
    output.trim().split('\n').at(-1),
    /^The npm registry cannot be reached \(ECONNREFUSED\): .* run this again\.$/,
  );
  t.ok(checkout.has('node_modules/esbuild'));
  t.equal((await checkout.start('serve').ended).code, 0);
});

t.test('if the sources do not compile, the previous build is kept', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('src/main.ts', 'export const x: = 3');
  const { code, output } = await checkout.start('serve').ended;
  t.equal(code, 1);
  t.match(output, 'src/main.ts:1:16');
  t.ok(checkout.has('dist/src/main.js'));
  t.same(leftovers(checkout), []);
});

t.test('if the folder is not writable, one line says so, unless everything is up to date', async (t) => {
  const checkout = checkoutFor(t);
  const { code, output } = await checkout.startReadOnly('serve').ended;
  t.equal(code, 1);
  t.match(output, /^Cannot write to .*\n$/);
  await checkout.start('serve').ended;
  t.same(await checkout.startReadOnly('serve').ended, { code: 0, output: '' });
});
