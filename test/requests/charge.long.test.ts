// Charges when the client, the process, or the upstream misbehaves. Contract sections 5, 7, and 10.
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { openStream } from '../support/event-reader.ts';
import type { Answer } from '../support/http.ts';
import { freshDatabase, onEachDatabase, plansFile, startTestService } from '../support/service.ts';
import { lastCharge, lastChargeBecomes } from '../support/spending.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const env = { CHAT_URL: upstream.url };
const messages = [{ role: 'user', content: 'Hi' }];
/** Long enough for the service to notice that a client disconnected, and too short for an admission to time out. */
const DELAY_MS = 900;

onEachDatabase(t, env, async (t, service) => {
  const { client } = service;
  const caller = await client.signUp();

  await t.test('a request succeeds even if the upstream reports three billion tokens', async (t) => {
    const usage = { prompt_tokens: 3e9, completion_tokens: 2, total_tokens: 3e9 + 2 };
    const head = { id: 'c1', created: 1, model: MODEL };
    const choice = { index: 0, finish_reason: 'stop' };
    const chunk = { ...head, object: 'chat.completion.chunk' };
    await upstream.configure({
      completion: {
        ...{ ...head, object: 'chat.completion', usage },
        choices: [{ ...choice, message: { role: 'assistant', content: 'Hello' } }],
      },
      events: [
        JSON.stringify({
          ...chunk,
          choices: [{ ...choice, delta: { role: 'assistant', content: 'Hello' } }],
        }),
        JSON.stringify({ ...chunk, choices: [], usage }),
      ],
    });
    for (const headers of [{}, { 'idempotency-key': randomUUID() }]) {
      const stream = await client.post('/chat', { message: 'Hi', stream: true }, { ...caller, headers });
      t.match(stream.body.at(-1), { event: 'done', data: { reply: 'Hello' } });
      t.match(await lastCharge(service, caller.accountId), { state: 'final', status: 200 });
    }
    for (const stream of [true, false]) {
      const completion = await client.post('/chat/completions', { messages, stream }, caller);
      t.equal(completion.status, 200);
      if (stream) t.equal(completion.body.at(-1).data, '[DONE]');
      t.match(await lastCharge(service, caller.accountId), { state: 'final', status: 200, output_tokens: 2 });
    }
    t.same((await audit(service.database.db)).differences, []);
  });
});

t.test('a client that disconnects before the upstream request is not charged', async (t) => {
  // Near the limit, the ledger admits a request before any work starts.
  const plan = plansFile(t, { chat: 10 });
  const { drop, env: direct } = await freshDatabase('postgres');
  const url = new URL(String(direct.DATABASE_URL));
  const near = await openDatabase({ url: url.href });
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  // Teardowns run in reverse order, so the service stops before its database is dropped.
  t.teardown(async () => {
    await near.close();
    await proxy.close();
    await drop();
  });
  const service = await startTestService(t, 'postgres', { ...env, ...plan, DATABASE_URL: url.href });
  const { client } = service;
  await upstream.reset();
  for (const [path, body] of [
    ['/chat', { message: 'Hi' }],
    ['/chat/completions', { messages, stream: true }],
  ] as const) {
    let isInTime = false;
    for (let attempt = 1; !isInTime; attempt += 1) {
      const caller = await client.signUp();
      const { key } = await client.createKey(caller);
      // Opens the connections and prepares the statements, so that the delay does not apply to them.
      t.equal((await client.post(path, body, { key })).status, 200);
      const { chat: calls } = await upstream.calls();
      proxy.delayAnswers(DELAY_MS);
      const leaving = new AbortController();
      const answer = fetch(`${client.origin}/api/v1${path}`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const name = answer.then(
        ({ status }) => `answered with ${status}`,
        (error: Error) => error.name,
      );
      let notYetAt = performance.now();
      await eventually(
        'the request is admitted',
        async () => {
          const at = performance.now();
          const rows = await rowsOf(
            near.db,
            sql`select from requests where account_id = ${caller.accountId}`,
          );
          if (rows.length < 2) notYetAt = at;
          return rows.length > 1;
        },
        20_000,
      );
      leaving.abort();
      // Otherwise the service may have received the reply before it noticed the disconnect: retry with a new account.
      isInTime = performance.now() - notYetAt < DELAY_MS / 2;
      const outcome = await name;
      proxy.delayAnswers(0);
      if (!isInTime) continue;
      await eventually(
        'the request is settled',
        async () => (await lastCharge(service, caller.accountId)).state !== 'admitted',
        10_000,
      );
      // On a busy machine the service may notice the disconnect too late, so the test retries a few times.
      isInTime = attempt >= 5 || (await upstream.calls()).chat === calls;
      if (!isInTime) continue;
      t.equal(outcome, 'AbortError');
      await lastChargeBecomes(service, caller.accountId, { state: 'refunded', status: 499 }, 10_000);
      t.equal((await client.get('/usage', caller)).body.used.chat, 1, `${path} ${JSON.stringify(body)}`);
      t.equal((await upstream.calls()).chat, calls, 'the upstream received no request');
    }
  }
});

t.test('of two attempts at a stream, only the one whose reply is stored ends with done', async (t) => {
  const one = await startTestService(t, 'postgres', env);
  const other = await startTestService(t, 'postgres', { ...env, DATABASE_URL: String(one.env.DATABASE_URL) });
  const { db } = one.database;
  for (const isFirstFaster of [true, false]) {
    const caller = await one.client.signUp();
    const headers = { 'idempotency-key': randomUUID() };
    const body = { message: 'Hi', stream: true };
    await upstream.configure({ chunks: isFirstFaster ? 40 : 80, chunkIntervalMs: 50 });
    const first = await openStream(one.client, '/chat', body, { ...caller, headers });
    await first.next();
    await upstream.configure({ chunks: isFirstFaster ? 80 : 4, chunkIntervalMs: 50 });
    let second = first;
    await eventually('the other replica takes over the request', async () => {
      // The process counts as dead until it renews its lease.
      await db.execute(sql`
        update leases set expires_at = ledger_now() - interval '1 second' where process = ${one.ledger.process}`);
      second = await openStream(other.client, '/chat', body, { ...caller, headers });
      return second.response.status === 200;
    });
    const ends = (await Promise.all([first.rest(), second.rest()])).map((events) => events.at(-1));
    const [kept, late] = isFirstFaster ? ends : ends.reverse();
    t.match(kept, { event: 'done' });
    t.match(late, { event: 'error', data: { error: { code: 'serviceUnavailable' } } });
    const again = await other.client.post('/chat', body, { ...caller, headers });
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    t.same(again.body.at(-1), kept);
    t.equal((await one.client.get('/usage', caller)).body.used.chat, 1);
  }
  t.same((await audit(db)).differences, []);
});

t.test('after a settlement with an unknown outcome, the headers show the units as charged', async (t) => {
  const { drop, env: direct } = await freshDatabase('postgres');
  const url = new URL(String(direct.DATABASE_URL));
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  t.teardown(async () => {
    await proxy.close();
    await drop();
  });
  const plan = plansFile(t, { chat: 50 });
  const service = await startTestService(t, 'postgres', { ...env, ...plan, DATABASE_URL: url.href });
  const { client } = service;
  await upstream.reset();
  const caller = await client.signUp();
  const quota = ({ headers }: Answer) => /"chat";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  for (const [path, body] of [
    ['/chat', { message: 'Hi' }],
    ['/chat/completions', { messages, stream: true }],
  ] as const) {
    const answered = await client.post(path, body, caller);
    t.equal(answered.status, 200);
    proxy.cutAnswerTo('ledger_settle', Number.POSITIVE_INFINITY);
    const unknown = await client.post(path, body, caller);
    proxy.cutAnswerTo('ledger_settle', 0);
    t.match(unknown, { status: 503, body: { error: { message: /The request may remain charged/ } } });
    t.equal(Number(quota(unknown)), Number(quota(answered)) - 1);
    await upstream.configure({ fault: 'status' });
    const refunded = await client.post(path, body, caller);
    await upstream.reset();
    t.equal(refunded.status, 502);
    t.equal(quota(refunded), quota(unknown), 'a completed refund is visible');
  }
});
