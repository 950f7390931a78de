// Idempotent retries across several replicas that crash: contract section 10, reliability tests 39 and 40.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import type { Answer } from '../support/http.ts';
import { differences, settled } from '../support/ledger-state.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

/** A lease of 20 s, a sweep every 5 s, and time for a loaded machine. */
const RESOLVED_WITHIN_MS = 90_000;

t.test('retries across three replicas', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { databaseUrl, replicas } = await startCluster(t, {
    count: 3,
    env: { ...plansFile(t, { chat: 1000 }), CHAT_URL: upstream.url },
  });
  const [one, other, third] = replicas as [Replica, Replica, Replica];

  /** Creates an account, and a request that can be retried. */
  async function request(body: object) {
    const owner = await third.client.signUp();
    const { key } = await third.client.createKey(owner);
    const headers = { 'idempotency-key': randomUUID() };
    const send = (replica: Replica) => replica.client.post('/chat', body, { key, headers });
    return {
      send,
      stream: (replica: Replica) => openStream(replica.client, '/chat', body, { key, headers }),
      used: async () => (await third.client.get('/usage', { cookie: owner.cookie })).body.used.chat,
      async settledAnswer(replica: Replica): Promise<Answer> {
        const until = performance.now() + RESOLVED_WITHIN_MS;
        for (;;) {
          const answer = await send(replica);
          if (answer.status !== 409 || performance.now() > until) return answer;
          t.match(answer.body, { error: { code: 'idempotencyInProgress' } });
          await sleep(500);
        }
      },
    };
  }

  await t.test(
    '39: of 50 concurrent requests with one key across three replicas, one runs and is charged',
    async (t) => {
      await upstream.configure({ headersDelayMs: 500 });
      const { send, settledAnswer, used } = await request({ message: 'Hello' });
      const before = (await upstream.calls()).chat;
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => send(replicas[n % replicas.length] as Replica)),
      );
      t.ok(answers.every(({ status }) => status === 200 || status === 409));
      const replayed = await settledAnswer(third);
      t.equal(replayed.headers.get('idempotency-replayed'), 'true');
      t.equal((await upstream.calls()).chat, before + 1);
      t.equal(await used(), 1);
    },
  );

  await t.test(
    '40: after a process is killed, a retry completes and is charged once, streaming or not',
    async (t) => {
      await upstream.configure({ chunks: 40, chunkIntervalMs: 100 });
      const midStream = await request({ message: 'Streamed', stream: true });
      const stream = await midStream.stream(one);
      const start = await stream.next();
      await stream.next();
      await upstream.configure({ headersDelayMs: 60_000 });
      const { chat } = await upstream.calls();
      const pending = await request({ message: 'Asked' });
      const unanswered = pending.send(one).catch((error: Error) => error);
      const unansweredStream = await request({ message: 'Asked', stream: true });
      const neverBegun = unansweredStream.send(one).catch((error: Error) => error);
      await eventually('both are in flight', async () => (await upstream.calls()).chat === chat + 2);
      await one.kill('SIGKILL');
      t.ok((await unanswered) instanceof Error);
      t.ok((await neverBegun) instanceof Error);
      await upstream.configure({ chunks: 3 });

      t.equal((await midStream.send(other)).status, 409, 'the killed process could just be slow');
      const [resumed, anew, begun] = await Promise.all([
        midStream.settledAnswer(other),
        pending.settledAnswer(other),
        unansweredStream.settledAnswer(third),
      ]);
      t.equal(resumed.status, 200);
      const events: ServerEvent[] = resumed.body;
      t.equal(events.at(-1)?.event, 'done');
      t.equal(events[0]?.data.id, start?.data.id, 'the charge is the same');
      t.match(anew, { status: 200, body: { finish_reason: 'stop' } });
      t.equal(begun.status, 200);
      for (const each of [midStream, pending, unansweredStream]) {
        const again = await each.send(third);
        t.equal(again.headers.get('idempotency-replayed'), 'true');
        t.equal(await each.used(), 1);
      }
      await one.start();
    },
  );

  await t.test(
    '40: a process that is paused and resumed ends its stream with an error, and only the retry is stored',
    async (t) => {
      await upstream.configure({ chunks: 30, chunkIntervalMs: 100 });
      const { settledAnswer, stream, used } = await request({ message: 'Hello', stream: true });
      const stopped = await stream(one);
      const start = await stopped.next();
      one.pause();
      const resumed = await settledAnswer(other);
      one.resume();
      t.equal(resumed.status, 200);
      t.equal(resumed.body[0].data.id, start?.data.id);
      // Both streams ran under one charge, but only the stored one may end with `done`.
      const end = (await stopped.rest()).at(-1);
      t.match(end, { event: 'error', data: { error: { code: 'serviceUnavailable' } } });
      const again = await settledAnswer(third);
      t.same(again.body.at(-1), resumed.body.at(-1));
      t.equal(again.headers.get('idempotency-replayed'), 'true');
      t.equal(await used(), 1);
    },
  );

  await settled(databaseUrl, RESOLVED_WITHIN_MS);
  t.same(await differences(databaseUrl), []);
});
