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

t.test('a Node that is too old is told in one line which one is needed', async (t) => {
  t.match(
    nodeProblem('18.20.4', '>=20.19'),
    /^Parley needs Node\.js 20\.19 or newer and this is 18\.20\.4: .*24.*$/,
  );
  t.ok(nodeProblem('20.18.3', '>=20.19'));
  for (const version of ['20.19.0', '22.0.0', '24.1.0', '100.0.0']) {
    t.equal(nodeProblem(version, '>=20.19'), undefined, version);
  }
});

t.test('serve: installs and builds once; then nothing until a source or the lock file changes', async (t) => {
  const checkout = checkoutFor(t);
  t.equal((await checkout.start('serve').ended).code, 0);
  t.match(checkout.npmCalls(), [/^ci --omit=dev /, /^ci --omit=dev /], 'for serving, and for the dashboard');
  t.ok(checkout.has('dist/src/main.js'));
  t.ok(checkout.has('dist/dashboard/index.html'));
  const [file = ''] = rendererOf(checkout);
  t.match(file, /^scalar-[0-9a-f]{12}\.js$/, 'a name that changes with the content');
  t.equal(checkout.read(`dist/reference/${file}`), 'the renderer');
  const packed = fs.readFileSync(path.join(checkout.folder, `dist/reference/${file}.gz`));
  t.equal(gunzipSync(packed).toString(), 'the renderer');
  t.ok(checkout.has(`dist/reference/${file}.br`));

  t.equal(checkout.read('dist/new-database/files/PG_VERSION'), '18', 'an empty database to copy');

  const again = await checkout.start('serve').ended;
  t.same(again, { code: 0, output: '' });
  fs.utimesSync(path.join(checkout.folder, 'src/main.ts'), new Date(), new Date());
  t.same(await checkout.start('serve').ended, { code: 0, output: '' }, 'a new time alone is no change');

  checkout.write('schemas/greeting.ts', 'export const greeting: string = "hello";');
  checkout.write(
    'src/main.ts',
    `${checkout.read('src/main.ts')}export { greeting } from '../schemas/greeting.ts';`,
  );
  t.match((await checkout.start('serve').ended).output, 'Building');
  t.match(checkout.read('dist/src/main.js'), /greeting="hello"/);
  t.ok(checkout.has('dist/dashboard/index.html'), 'the dashboard stays');
  t.same(rendererOf(checkout), [file], 'so does the API reference');
  t.equal(checkout.npmCalls().length, 2);

  checkout.write('package-lock.json', '{ }');
  await checkout.start('serve').ended;
  t.equal(checkout.npmCalls().length, 3);
});

t.test('serve: the dashboard is built anew when it changes, alone, compressed beside itself', async (t) => {
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
  t.same(await checkout.start('serve').ended, { code: 0, output: '' }, 'what is built needs no bundler');
});

t.test('a dashboard that does not build: one line that says so, and the one before stays', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('src/dashboard/main.tsx', 'broken');
  const { code, output } = await checkout.start('serve').ended;
  t.equal(code, 1);
  t.match(output.trim().split('\n').at(-1), /^The dashboard does not build: .* run this again\.$/);
  t.equal(checkout.read('dist/dashboard/index.html'), 'the dashboard');
  t.same(leftovers(checkout), []);
});

t.test('test: adds what serving left out, and serving takes it away no more', async (t) => {
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

t.test('two at once: one installs, the other says that it waits, both are served', async (t) => {
  const checkout = checkoutFor(t);
  const runs = [1, 2].map(() => checkout.start('serve', { NPM_BEHAVES: 'slow' }));
  const ends = await Promise.all(runs.map((run) => run.ended));
  t.same(
    ends.map((end) => end.code),
    [0, 0],
  );
  t.equal(checkout.npmCalls().length, 2);
  t.equal(ends.filter((end) => end.output.includes('waiting until it is done')).length, 1);
});

t.test(
  'killed in the middle: what is half there is not trusted, and the lock is taken over at once',
  async (t) => {
    const checkout = checkoutFor(t);
    const killed = checkout.start('serve', { NPM_BEHAVES: 'hangs' });
    await until(() => checkout.npmCalls().length === 1);
    killed.process.kill('SIGKILL');
    t.notOk(checkout.has('node_modules'));
    const started = Date.now();
    t.equal((await checkout.start('serve').ended).code, 0);
    t.ok(Date.now() - started < 8000, 'without the ten seconds for a holder whose death is not certain');
    t.equal(checkout.npmCalls().length, 3);
    t.same(leftovers(checkout), []);
  },
);

t.test(
  'Ctrl-C while installing: ends at once, leaves nothing, keeps what was installed before',
  async (t) => {
    const checkout = checkoutFor(t);
    await checkout.start('serve').ended;
    checkout.write('package-lock.json', '{ }');
    const run = checkout.start('serve', { NPM_BEHAVES: 'hangs' });
    await until(() => checkout.npmCalls().length === 3);
    run.process.kill('SIGINT');
    const interrupted = Date.now();
    const { code, output } = await run.ended;
    t.equal(code, 130);
    t.ok(Date.now() - interrupted < 10_000, 'though what npm had started would go on for half a minute');
    t.match(output, 'Interrupted.');
    t.same(leftovers(checkout), []);
    t.ok(checkout.has('node_modules/esbuild'));
  },
);

t.test('no registry: one line that says so, and what was installed before stays', async (t) => {
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

t.test('sources that do not compile: the build before stays', async (t) => {
  const checkout = checkoutFor(t);
  await checkout.start('serve').ended;
  checkout.write('src/main.ts', 'export const x: = 3');
  const { code, output } = await checkout.start('serve').ended;
  t.equal(code, 1);
  t.match(output, 'src/main.ts:1:16');
  t.ok(checkout.has('dist/src/main.js'));
  t.same(leftovers(checkout), []);
});

t.test(
  'a folder that is not writable: one line that says so; nothing to do in it is no problem',
  async (t) => {
    const checkout = checkoutFor(t);
    const { code, output } = await checkout.startReadOnly('serve').ended;
    t.equal(code, 1);
    t.match(output, /^Cannot write to .*\n$/);
    await checkout.start('serve').ended;
    t.same(await checkout.startReadOnly('serve').ended, { code: 0, output: '' });
  },
);
