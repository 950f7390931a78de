// SIGTERM behind a load balancer: reliability test 77. Contract section 11.
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startProcess } from '../support/process.ts';
import { freshDatabase } from '../support/service.ts';

const DELAY_SECONDS = 3;
const POLL_MS = 1000;

async function start(t: Test, env: Record<string, string> = {}) {
  const database = await freshDatabase('embedded');
  t.teardown(() => database.drop());
  return startProcess(t, { ...database.env, READY_DELAY_SECONDS: String(DELAY_SECONDS), ...env });
}

/** The status that a new connection gets, or the error if it was refused or closed. */
const ask = (url: string): Promise<number | string> =>
  fetch(url, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    (error: Error) => (error.cause as NodeJS.ErrnoException | undefined)?.code ?? error.message,
  );

/** Polls `/readyz` like a load balancer, until the service is not ready or `isOver`. Returns the number of polls. */
async function poll(
  origin: string,
  isOver = () => false,
  onAnswer: (polls: number) => void = () => {},
): Promise<number> {
  for (let polls = 1; ; polls += 1) {
    if ((await ask(`${origin}/readyz`)) !== 200 || isOver()) return polls;
    onAnswer(polls);
    await sleep(POLL_MS);
  }
}

t.test(
  '77: on SIGTERM behind a load balancer that polls /readyz every second, no request is refused',
  async (t) => {
    const service = await start(t);
    let hasNoticed = false;
    const answers: (number | string)[] = [];
    const client = async () => {
      while (!hasNoticed) {
        answers.push(await ask(`${service.origin}/healthz`));
        await sleep(5);
      }
    };
    let noticed = Promise.resolve(0);
    // Polls are slow on a busy machine, so the test waits until the service has seen two polls and knows its balancer.
    const isKnown = new Promise<void>((resolve) => {
      const onAnswer = (polls: number) => {
        if (polls === 2) resolve();
      };
      noticed = poll(service.origin, undefined, onAnswer).then((polls) => {
        hasNoticed = true;
        return polls;
      });
    });
    const clients = [client(), client(), client()];
    await isKnown;
    const before = answers.length;
    const from = performance.now();
    const ended = service.end('SIGTERM');
    t.ok((await noticed) > 2);
    await Promise.all(clients);
    t.ok(answers.length > before, `${answers.length - before} connections after SIGTERM`);
    t.same([...new Set(answers)], [200], 'no connection was refused');
    t.same(await ended, { code: 0, signal: null });
    t.ok(performance.now() - from >= DELAY_SECONDS * 1000);
  },
);

t.test('77: the delay is part of DRAIN_SECONDS', async (t) => {
  const service = await start(t, { DRAIN_SECONDS: '1', READY_DELAY_SECONDS: '60' });
  for (let n = 0; n < 2; n += 1) await ask(`${service.origin}/readyz`);
  const from = performance.now();
  t.same(await service.end('SIGTERM'), { code: 0, signal: null });
  const tookMs = performance.now() - from;
  t.ok(tookMs > 900 && tookMs < 40_000, `${Math.round(tookMs)} ms`);
});

t.test('77: a second SIGTERM ends the delay, and the process exits with 0', async (t) => {
  const service = await start(t, { READY_DELAY_SECONDS: '60', DRAIN_SECONDS: '120' });
  for (let n = 0; n < 2; n += 1) await ask(`${service.origin}/readyz`);
  const from = performance.now();
  service.child.kill('SIGTERM');
  while ((await ask(`${service.origin}/readyz`)) !== 503) await sleep(5);
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  t.notMatch(
    metrics,
    /^parley_errors_total\{code="serviceUnavailable"\}/m,
    'a 503 from /readyz does not count as an error and triggers no alert',
  );
  t.same(await service.end('SIGTERM'), { code: 0, signal: null });
  t.ok(performance.now() - from < 50_000);
});

for (const [title, signal, polls] of [
  ['77 no delay after a single poll, which may come from a person', 'SIGTERM', 1],
  ['77 no delay on Ctrl-C', 'SIGINT', 2],
] as const) {
  t.test(title, async (t) => {
    const service = await start(t, { READY_DELAY_SECONDS: '60', DRAIN_SECONDS: '120' });
    for (let n = 0; n < polls; n += 1) await ask(`${service.origin}/readyz`);
    const from = performance.now();
    t.same(await service.end(signal), { code: 0, signal: null });
    t.ok(performance.now() - from < 50_000);
  });
}
