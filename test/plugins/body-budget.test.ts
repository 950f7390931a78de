// Contract section 6: all bodies in memory share one budget, counted in received bytes. Reliability test 58.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { codeOf, type RawRequest, startRequest, statusOf } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

t.setTimeout(180_000);

const MIB = 2 ** 20;
const { client, port } = await startTestService(t, 'postgres', { BODY_MEMORY_MB: '32' });
const newKey = async () => (await client.createKey(await client.signUp())).key;

/** Starts a request whose body is incomplete: sends `megabytes` MiB of it, one byte less than announced by default. */
function begin(
  key: string,
  megabytes: number,
  announced = megabytes * MIB + 1,
  headers: Record<string, string> = {},
): RawRequest {
  const request = startRequest(port, 'POST /api/v1/chat/completions', {
    Authorization: `Bearer ${key}`,
    'Content-Length': String(announced),
    ...headers,
  });
  void request.send(Buffer.alloc(megabytes * MIB, ' '));
  t.teardown(() => request.socket.destroy());
  return request;
}

/** Sends a whole body of this size, and returns the status. */
const ask = async (key: string, megabytes: number) =>
  (
    await client.request('POST', '/chat/completions', {
      key,
      raw: `${' '.repeat(megabytes * MIB)}{"messages":[{"role":"user","content":"Hi"}]}`,
    })
  ).status;

/** Retries until the status is `wanted`: the service may not have read all sent bytes yet. */
async function until(wanted: number, once: () => Promise<number>): Promise<void> {
  while ((await once()) !== wanted) await sleep(20);
}

/** Keeps bodies in memory. Starts them again if the probe was served first and one of them was refused instead. */
async function hold(beginAll: () => RawRequest[], probe: () => Promise<number>): Promise<RawRequest[]> {
  let held = beginAll();
  await until(503, async () => {
    const status = await probe();
    if (status === 200) {
      for (const { socket } of held) socket.destroy();
      held = beginAll();
      // Gives the bodies time to arrive before the next probe.
      await sleep(100);
    }
    return status;
  });
  return held;
}

t.test('58: announced bytes use no budget: 50 bodies of 20 MiB are announced but not sent', async (t) => {
  const key = await newKey();
  const idle = Array.from({ length: 50 }, () => begin(key, 0, 20 * MIB, { Expect: '100-continue' }));
  // The service sends 100 Continue when it begins to receive a body.
  await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once('data', resolve))));
  t.equal(await ask(key, 7), 200);
  for (const { socket } of idle) socket.destroy();
});

t.test(
  '58: an account may use a quarter of the budget, or one larger body; the rest stays available to others',
  async (t) => {
    const [one, other] = [await newKey(), await newKey()];
    const [first] = await hold(
      () => [begin(one, 7)],
      () => ask(one, 2),
    );
    const refused = begin(one, 2);
    const answer = await refused.answer;
    t.equal(statusOf(answer), 503);
    t.equal(codeOf(answer), 'overloaded');
    t.match(answer, /\r\nretry-after: 1\r\n/i);
    t.equal(await ask(other, 7), 200, 'another account');
    t.equal(await ask(one, 0), 200, 'a small body of the same account');

    first?.socket.destroy();
    await until(200, () => ask(one, 7));
    t.pass('the bytes are released after the client disconnects');
  },
);

t.test('58: an incomplete large body does not lock out its account', async (t) => {
  const [one, other] = [await newKey(), await newKey()];
  await hold(
    () => [begin(one, 19)],
    () => ask(other, 12),
  );
  t.equal(await ask(one, 2), 503, 'another large body');
  t.equal(await ask(one, 0), 200, 'a small body');
});

t.test(
  '58: when the budget is used up, a large body is 503 and a small one is served; the budget recovers',
  async (t) => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey));
    const last = await newKey();
    const held = await hold(
      () => keys.map((key) => begin(key, 6)),
      () => ask(last, 5),
    );
    t.equal(await ask(last, 0), 200, 'a part of the budget is reserved for small bodies');
    for (const { socket } of held) socket.destroy();
    await until(200, () => ask(last, 7));
    t.pass('recovered');
  },
);

t.test('58: a body that does not fit into the remaining budget is refused before it is read', async (t) => {
  const [one, other] = [await newKey(), await newKey()];
  const [held] = await hold(
    () => [begin(one, 19)],
    () => ask(other, 12),
  );
  const refused = begin(other, 0, 12 * MIB);
  t.equal(statusOf(await refused.answer), 503);
  held?.socket.destroy();
});

t.test('58: a body releases its bytes once it is parsed or rejected as invalid JSON', async (t) => {
  const key = await newKey();
  for (let n = 0; n < 12; n++) t.equal(await ask(key, 7), 200);
  for (let n = 0; n < 12; n++) {
    const { status } = await client.request('POST', '/chat/completions', {
      key,
      raw: `{${' '.repeat(7 * MIB)}`,
    });
    t.equal(status, 400);
  }
});
