// Whatever an upstream does, the client gets Parley's error and exactly one refund. Reliability tests 36 to 38.
import t, { type Test } from 'tap';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import type { Answer } from '../support/http.ts';
import { meteredRequests } from '../support/metered.ts';
import { onEachDatabase } from '../support/service.ts';
import { lastCharge, lastChargeBecomes } from '../support/spending.ts';
import { chatSurface, surfaces } from '../support/surfaces.ts';
import { CANARY, type Settings, startUpstream } from '../support/upstream/client.ts';
import { eventually, KEY } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const env = {
  CHAT_URL: upstream.url,
  CHAT_API_KEY: KEY,
  CHAT_MODEL: 'test-model',
  IMAGES_URL: upstream.url,
  EMBEDDINGS_URL: upstream.url,
  IMAGES_API_KEY: KEY,
  SEARCH_URL: upstream.searchUrl,
  UPSTREAM_FIRST_BYTE_SECONDS: '1',
  UPSTREAM_IDLE_SECONDS: '1',
};

type Fault = [settings: Partial<Settings>, status: number, code: string];

/** Faults before the first output, for every kind of call. */
const faults: Fault[] = [
  [{ fault: 'refuse' }, 502, 'upstreamError'],
  [{ fault: 'reset' }, 502, 'upstreamError'],
  [{ fault: 'status', status: 400 }, 400, 'invalidRequest'],
  [{ fault: 'status', status: 401 }, 502, 'upstreamError'],
  [{ fault: 'status', status: 403 }, 502, 'upstreamError'],
  [{ fault: 'status', status: 413 }, 400, 'invalidRequest'],
  [{ fault: 'status', status: 422 }, 400, 'invalidRequest'],
  [{ fault: 'status', status: 429, retryAfter: '7' }, 503, 'overloaded'],
  [{ fault: 'status', status: 500 }, 502, 'upstreamError'],
  [{ fault: 'redirect' }, 502, 'upstreamError'],
  [{ fault: 'content-type' }, 502, 'upstreamError'],
  [{ fault: 'bad-json' }, 502, 'upstreamError'],
  [{ fault: 'error-body' }, 502, 'upstreamError'],
  [{ fault: 'hang' }, 504, 'upstreamTimeout'],
];
/** Streams that break before any output. */
const streamFaults: Fault[] = [
  [{ fault: 'truncate', faultAfter: 0 }, 502, 'upstreamError'],
  [{ fault: 'cut', faultAfter: 0 }, 502, 'upstreamError'],
  [{ fault: 'error-event', faultAfter: 0 }, 502, 'upstreamError'],
  [{ fault: 'bad-event', faultAfter: 0 }, 502, 'upstreamError'],
  [{ fault: 'stall', faultAfter: 0 }, 504, 'upstreamTimeout'],
];
const calls = meteredRequests('Hi').map((call) =>
  call.path === '/chat/completions' ? { ...call, body: { ...call.body, n: 3 }, units: 3 } : call,
);

const tellsTooMuch = ({ headers, text }: Answer) => {
  const told = `${text} ${JSON.stringify([...headers])}`;
  return told.includes(CANARY) || told.includes(KEY) || told.includes(new URL(upstream.url).host);
};

onEachDatabase(t, env, async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const used = async () => (await client.get('/usage', { key })).body.used;

  for (const { path, body, isStream, meter, units } of calls) {
    // A 200 with `content-type: text/html`, and JSON instead of events, are not streams.
    const own = isStream ? [...faults, ...streamFaults] : faults;
    await t.test(
      `POST ${path}${isStream ? ' stream' : ''}: every fault is mapped to an error and refunded once`,
      async (t) => {
        for (const [settings, status, code] of own) {
          await upstream.reset();
          await upstream.configure(settings);
          const before = await used();
          const answer = await client.post(path, body, { key });
          const what = `${JSON.stringify(settings)} → ${status} ${code}`;
          t.match(answer, { status, body: { error: { code } } }, what);
          t.notOk(tellsTooMuch(answer), `${what}: the response reveals nothing about the upstream`);
          t.same(await used(), before, `${what}: refunded`);
          t.match(
            await lastCharge(service, owner.accountId),
            { state: 'refunded', status, code, units },
            `${what}: refunded once`,
          );
          if (settings.status === 429) t.equal(answer.headers.get('retry-after'), '7');
        }
        await upstream.configure({});
        const before = await used();
        t.equal((await client.post(path, body, { key })).status, 200, 'requests succeed afterward');
        t.equal((await used())[meter], before[meter] + units);
      },
    );
  }

  for (const { body, failureOf, isEnd, path, streamedText } of [chatSurface, ...surfaces]) {
    const asked = body('Hi', { stream: true });

    /** Sends a stream that breaks after its first output, and checks everything that such streams have in common. */
    async function breaks(t: Test, code: string, what: string): Promise<void> {
      const before = (await used()).chat;
      const answer = await client.post(path, asked, { key });
      const events = answer.body as ServerEvent[];
      t.equal(failureOf(events), code, what);
      t.notOk(events.some(isEnd), `${what}: no event marks it as complete`);
      t.notOk(tellsTooMuch(answer), `${what}: the response reveals nothing about the upstream`);
      t.equal((await used()).chat, before + 1, `${what}: remains charged`);
      await eventually('the slot is released', async () => service.calls.taken === 0);
      await eventually('the upstream request is closed', async () => (await upstream.calls()).open === 0);
    }

    await t.test(
      `POST ${path} stream: a stall between chunks ends the stream with upstreamTimeout`,
      async (t) => {
        await upstream.reset();
        await upstream.configure({ chunks: 10, fault: 'stall', faultAfter: 2 });
        await breaks(t, 'upstreamTimeout', 'stall');
        t.match(await lastCharge(service, owner.accountId), {
          ...{ state: 'final', status: 504, code: 'upstreamTimeout', output_tokens: 2 },
        });
      },
    );

    await t.test(
      `POST ${path} stream: any fault in the middle ends the stream with upstreamError`,
      async (t) => {
        for (const fault of ['truncate', 'cut', 'error-event', 'bad-event'] as const) {
          await upstream.reset();
          await upstream.configure({ chunks: 10, chunkIntervalMs: 20, fault, faultAfter: 3 });
          await breaks(t, 'upstreamError', fault);
        }
      },
    );

    await t.test(
      `POST ${path} stream: a client disconnect aborts the upstream request and keeps the charge and tokens`,
      async (t) => {
        await upstream.reset();
        await upstream.configure({ chunks: 1000, chunkIntervalMs: 50 });
        const before = await used();
        const stream = await openStream(client, path, asked, { key });
        const events: ServerEvent[] = [];
        while (streamedText(events).length < 12) events.push((await stream.next()) as ServerEvent);
        stream.leave();
        const leftAt = Date.now();
        await eventually(
          'the upstream request is aborted',
          async () => (await upstream.calls()).aborted === 1,
        );
        t.ok(((await upstream.onlyCall()).abortedAt ?? 0) - leftAt < 1000);
        const row = await lastChargeBecomes(service, owner.accountId, { status: 499 });
        t.match(row, { state: 'final', code: null, model: 'test-model' });
        t.ok((row.output_tokens ?? 0) >= 2, `${row.output_tokens} tokens were generated`);
        const after = await used();
        t.equal(after.chat, before.chat + 1);
        t.equal(after.tokens - before.tokens, (row.input_tokens ?? 0) + (row.output_tokens ?? 0));
        t.equal(service.calls.taken, 0);
      },
    );

    for (const isStream of [true, false])
      await t.test(
        `POST ${path}${isStream ? ' stream' : ''}: a client that disconnects before the first output remains charged`,
        async (t) => {
          await upstream.reset();
          await upstream.configure({ headersDelayMs: 5000 });
          const before = await used();
          const leaving = new AbortController();
          const left = fetch(`${client.origin}/api/v1${path}`, {
            method: 'POST',
            signal: leaving.signal,
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify(body('Hi', { stream: isStream })),
          }).catch(() => 'left');
          await eventually('the upstream has the request', async () => (await upstream.calls()).chat === 1);
          leaving.abort();
          t.equal(await left, 'left');
          await eventually(
            'the upstream request is aborted',
            async () => (await upstream.calls()).aborted === 1,
            1000,
          );
          await eventually('the request is charged', async () => (await used()).chat === before.chat + 1);
          await lastChargeBecomes(service, owner.accountId, { state: 'final', status: 499, code: null });
          await eventually('the slot is released', async () => service.calls.taken === 0);
        },
      );
  }

  await t.test(
    'POST /chat stream: a partial reply is stored when the client disconnects, except with store: false',
    async (t) => {
      for (const store of [true, false]) {
        await upstream.reset();
        await upstream.configure({ chunks: 1000, chunkIntervalMs: 50 });
        const before = (await client.get('/conversations?limit=100', { key })).body.data.length;
        const stream = await openStream(client, '/chat', { message: 'Hi', stream: true, store }, { key });
        const start = await stream.next();
        const first = await stream.next();
        stream.leave();
        await lastChargeBecomes(service, owner.accountId, { status: 499 });
        t.equal(
          (await client.get('/conversations?limit=100', { key })).body.data.length,
          before + (store ? 1 : 0),
        );
        if (!store) continue;
        const read = await client.get(`/conversations/${start?.data.conversation_id}`, { key });
        t.ok(read.body.messages[1].content.startsWith(first?.data.text));
      }
    },
  );
});
