// Contract section 6: all bodies in memory share a budget of bytes that were received. Reliability test 58.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { codeOf, type RawRequest, startRequest, statusOf } from '../support/raw-request.ts';
import { startTestService } from '../support/service.ts';

t.setTimeout(180_000);

const MIB = 2 ** 20;
const { client, port } = await startTestService(t, 'postgres', { BODY_MEMORY_MB: '32' });
const newKey = async () => (await client.createKey(await client.signUp())).key;

/** Begins a body, of a byte more unless told, and sends so much of it. */
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

/** Sends a whole body of a size; the status. */
const ask = async (key: string, megabytes: number) =>
  (
    await client.request('POST', '/chat/completions', {
      key,
      raw: `${' '.repeat(megabytes * MIB)}{"messages":[{"role":"user","content":"Hi"}]}`,
    })
  ).status;

/** Asks until the answer is this one: the service may not have read yet what was sent. */
async function until(wanted: number, once: () => Promise<number>): Promise<void> {
  while ((await once()) !== wanted) await sleep(20);
}

/** Holds bodies, begun again where the request that probes came first and one of them was refused in its place. */
async function hold(beginAll: () => RawRequest[], probe: () => Promise<number>): Promise<RawRequest[]> {
  let held = beginAll();
  await until(503, async () => {
    const status = await probe();
    if (status === 200) {
      for (const { socket } of held) socket.destroy();
      held = beginAll();
      await sleep(100);
    }
    return status;
  });
  return held;
}

t.test('58 announced bytes cost nothing: 50 bodies of 20 MiB that were not sent', async (t) => {
  const key = await newKey();
  const idle = Array.from({ length: 50 }, () => begin(key, 0, 20 * MIB, { Expect: '100-continue' }));
  // The service says so where it begins to receive a body.
  await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once('data', resolve))));
  t.equal(await ask(key, 7), 200);
  for (const { socket } of idle) socket.destroy();
});

t.test('58 an account has a quarter, or one larger body; the others have the rest', async (t) => {
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
  t.pass('room is free again once the client has left');
});

t.test('58 a large body that has not ended does not lock its account out', async (t) => {
  const [one, other] = [await newKey(), await newKey()];
  await hold(
    () => [begin(one, 19)],
    () => ask(other, 12),
  );
  t.equal(await ask(one, 2), 503, 'another large one');
  t.equal(await ask(one, 0), 200, 'a small one');
});

t.test(
  '58 with the budget used up a large body is 503, a small one is served, and room comes back',
  async (t) => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey));
    const last = await newKey();
    const held = await hold(
      () => keys.map((key) => begin(key, 6)),
      () => ask(last, 5),
    );
    t.equal(await ask(last, 0), 200, 'small bodies have a part of their own');
    for (const { socket } of held) socket.destroy();
    await until(200, () => ask(last, 7));
    t.pass('recovered');
  },
);

t.test('58 a body that does not fit beside those that are there is refused before it is read', async (t) => {
  const [one, other] = [await newKey(), await newKey()];
  const [held] = await hold(
    () => [begin(one, 19)],
    () => ask(other, 12),
  );
  const refused = begin(other, 0, 12 * MIB);
  t.equal(statusOf(await refused.answer), 503);
  held?.socket.destroy();
});

t.test('58 bodies that were parsed, or refused as broken, hold nothing', async (t) => {
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
