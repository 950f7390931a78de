// Reliability test 59: upstreams whose replies never end.
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import { startTestService } from '../support/service.ts';
import { lastChargeBecomes } from '../support/spending.ts';
import { chatSurface, type Surface, surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const MIB = 1024 * 1024;
const MOST = 2_000_000;
const TIMEOUT_MS = 60_000;
const upstream = await startUpstream();
t.teardown(() => upstream.stop());

/** Reconfigures the upstream once its earlier requests have ended. */
async function begin(settings: Parameters<typeof upstream.configure>[0]): Promise<void> {
  await eventually(
    'the upstream has no open requests',
    async () => (await upstream.calls()).open === 0,
    TIMEOUT_MS,
  );
  await upstream.reset();
  await upstream.configure(settings);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function memory(): number {
  collectGarbage();
  const { external, heapUsed } = process.memoryUsage();
  return (external + heapUsed) / MIB;
}

const messages = [{ role: 'user', content: 'Hi' }];
const all = [
  chatSurface,
  ...surfaces.map((surface) => ({
    ...surface,
    body: (...given: Parameters<Surface['body']>) => ({ ...surface.body(...given), ...surface.longest }),
  })),
];
const streams = all.map(({ body, path }) => [path, body('Hi', { stream: true })] as const);
const wholes = all.map(({ body, path }) => [path, body('Hi')] as const);
/** The number of characters in the events of a completion, across all members that grow. */
const charactersOf = (events: ServerEvent[]) =>
  events.reduce((sum, { data }) => {
    const { choices: [{ delta = {} } = {}] = [] } = data;
    const { content = '', reasoning_content: reasoning = '', tool_calls: [call] = [] } = delta;
    return sum + `${content}${reasoning}${call?.function?.arguments ?? ''}`.length;
  }, 0);

t.test('a reply is cut off at the character limit', async (t) => {
  const service = await startTestService(t, 'embedded', { CHAT_URL: upstream.url });
  const { calls: slots, client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  await client.put('/subscription', { plan: 'pro', billing_period: 'monthly' }, { cookie: owner.cookie });
  const used = async () => (await client.get('/usage', { key })).body.used.chat;
  const ended = (aborted: number) =>
    eventually(
      'the upstream request is aborted and the slot is released',
      async () => {
        const calls = await upstream.calls();
        return calls.open === 0 && calls.aborted === aborted && slots.taken === 0;
      },
      TIMEOUT_MS,
    );

  await t.test(
    '59: a stream ends with an error after 2,000,000 characters and remains charged',
    async (t) => {
      for (const { body, errorCodeOf, isEnd, path, streamedText } of all) {
        await begin({ chunks: 10_000_000, chunkSize: 1000 });
        const before = await used();
        const { response, rest } = await openStream(client, path, body('Hi', { stream: true }), { key });
        const events = await rest();
        t.equal(response.status, 200);
        t.equal(streamedText(events).length, MOST, path);
        const last = events.at(-1);
        t.match(last?.data.error, { message: /limit of 2,000,000 characters.*remains charged/ }, path);
        t.equal(last && errorCodeOf(last), 'upstreamError', path);
        t.notOk(events.some(isEnd), path);
        await ended(1);
        t.equal(await used(), before + 1);
        await lastChargeBecomes(service, owner.accountId, { state: 'final', status: 502 });
      }
    },
  );

  await t.test('59: every part of a reply counts: reasoning, tool arguments, and all choices', async (t) => {
    const text = 'x'.repeat(100_000);
    for (const delta of [
      { reasoning_content: text },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: text } }] },
    ]) {
      const event = JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] });
      await begin({ events: Array.from({ length: 25 }, () => event) });
      const { rest } = await openStream(client, '/chat/completions', { messages, stream: true }, { key });
      const events = await rest();
      t.ok(charactersOf(events) <= MOST);
      t.match(events.at(-1)?.data.error, { message: /limit of 2,000,000 characters/ });
    }
    await begin({ chunks: 3000, chunkSize: 1000 });
    const { rest } = await openStream(client, '/chat/completions', { messages, n: 2, stream: true }, { key });
    const events = await rest();
    t.ok(charactersOf(events) <= MOST);
    t.match(events.at(-1)?.data.error, { message: /limit of 2,000,000 characters/ });
    // Log probabilities grow beside the text, and 100 such streams would not fit into memory either.
    const top = Array.from({ length: 20 }, () => ({ token: 'x', logprob: -1, bytes: [120] }));
    const content = Array.from({ length: 200 }, () => ({
      token: 'x',
      logprob: -1,
      bytes: [1],
      top_logprobs: top,
    }));
    const logprobs = { content, refusal: null };
    const flood = JSON.stringify({
      choices: [{ index: 0, delta: { content: 'x' }, logprobs, finish_reason: null }],
    });
    await begin({ events: Array.from({ length: 120 }, () => flood) });
    const beside = await openStream(client, '/chat/completions', { messages, stream: true }, { key });
    t.match((await beside.rest()).at(-1)?.data.error, {
      message: /non-text parts of the response exceeded the service's limit/,
    });
  });

  await t.test(
    '59: an unstreamed reply of 1 GB, or one over the character limit, is 502 and refunded',
    async (t) => {
      const before = await used();
      for (const [path, body] of wholes) {
        for (const settings of [{ fault: 'giant' }, { chunks: 2001, chunkSize: 1000 }] as const) {
          await begin(settings);
          const answer = await client.post(path, body, { key });
          t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } });
          if (!('fault' in settings)) t.match(answer.body.error.message, /limit of 2,000,000 characters/);
          t.ok(
            (await upstream.calls()).bytes < 48 * MIB,
            `${path}: ${(await upstream.calls()).bytes / MIB} MiB`,
          );
        }
      }
      t.equal(await used(), before);
    },
  );

  await t.test(
    '59: with an Idempotency-Key and a disconnected client, a reply ends at the limit and memory stays bounded',
    async (t) => {
      const before = memory();
      for (const [path, body] of [...streams, ...wholes]) {
        const isStream = 'stream' in body;
        await begin(isStream ? { chunks: 10_000_000, chunkSize: 100 } : { fault: 'giant' });
        const clients = await Promise.all(
          Array.from({ length: 3 }, async () => {
            const headers = { 'idempotency-key': randomUUID() };
            if (isStream) return openStream(client, path, body, { key, headers });
            return leaving(`${client.origin}/api/v1${path}`, body, {
              ...headers,
              authorization: `Bearer ${key}`,
            });
          }),
        );
        await eventually(
          'the upstream has received all requests',
          async () => (await upstream.calls()).chat === 3,
          TIMEOUT_MS,
        );
        for (const { leave } of clients) leave();
        await ended(3);
        t.ok((await upstream.calls()).bytes < 3 * 48 * MIB);
      }
      // Node frees buffers some time after their collection.
      await eventually(
        'memory has grown by less than 64 MiB',
        async () => memory() - before < 64,
        TIMEOUT_MS,
      );
    },
  );
});

/** Sends a request without waiting for the response. */
function leaving(url: string, body: unknown, headers: Record<string, string>) {
  const controller = new AbortController();
  fetch(url, {
    method: 'POST',
    signal: controller.signal,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }).catch(() => {});
  return { leave: () => controller.abort() };
}

t.test('a reply is cut off at the time limit', async (t) => {
  const { calls: slots, client } = await startTestService(
    t,
    'embedded',
    { CHAT_URL: upstream.url },
    { answerLimits: { characters: MOST, milliseconds: 1500 } },
  );
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);

  await t.test(
    '59: a streamed reply that never ends is cut off at the time limit, whether the upstream sends data or stalls',
    async (t) => {
      for (const [path, body] of streams) {
        for (const settings of [
          { chunks: 1_000_000, chunkIntervalMs: 20 },
          { chunks: 5, fault: 'stall' },
        ] as const) {
          for (const isLeft of [false, true]) {
            await begin(settings);
            const headers: Record<string, string> = isLeft ? { 'idempotency-key': randomUUID() } : {};
            const { leave, rest } = await openStream(client, path, body, { key, headers });
            if (isLeft) leave();
            else
              t.match((await rest()).at(-1)?.data.error, {
                code: 'upstreamTimeout',
                message: /limit of 1.5 seconds.*remains charged/,
              });
            await eventually(
              'the request has ended',
              async () => (await upstream.calls()).open === 0 && slots.taken === 0,
              20_000,
            );
          }
        }
      }
    },
  );

  await t.test('59: an unstreamed reply that exceeds the time limit is 504 and refunded', async (t) => {
    const before = (await client.get('/usage', { key })).body.used.chat;
    await begin({ fault: 'hang' });
    for (const [path, body] of wholes) {
      const answer = await client.post(path, body, { key });
      t.match(answer, {
        status: 504,
        body: { error: { code: 'upstreamTimeout', message: /limit of 1.5 seconds.*Nothing was charged/ } },
      });
    }
    t.equal((await client.get('/usage', { key })).body.used.chat, before);
  });
});
