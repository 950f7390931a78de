// Tokens of answers that end before the upstream reports them: clients that leave, stops, failures. Contract section 15.
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import { openStream } from '../support/event-reader.ts';
import type { Body, Owner } from '../support/http.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const LIMIT = 30_000;
/** The longest answer. */
const MOST = 1000;
const prices = { input: 2, output: 10 };
const PER_IMAGE = 0.04;

type Answer = { body: Body; response: ServerResponse };

/** A server in this process that answers as it is told. */
async function server(answer: (answer: Answer) => void) {
  const made = createServer(async (request, response) => {
    answer({ body: JSON.parse(await text(request)), response });
  });
  await new Promise<void>((resolve) => {
    made.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    made.closeAllConnections();
    made.close();
  });
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}/v1`;
}

const usageOf = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
});
const head = { id: 'c', created: 1, model: 'theirs' };
const event = (fields: object) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], ...fields })}\n\n`;
const chunk = (delta: object, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta, finish_reason: finish }] });
const beginStream = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

/** Ends a stream some time before it reports the tokens. */
const late = await server(({ response }) => {
  beginStream(response);
  response.write(chunk({ role: 'assistant', content: 'Hi' }) + chunk({}, 'stop'));
  setTimeout(() => response.end(`${event(usageOf(3, 4))}data: [DONE]\n\n`), 300);
});

/** All tokens that the next server has read and generated. The first half of each answer is reasoning that nobody sees. */
const counted = { tokens: 0, open: 0 };
const counting = await server(({ body, response }) => {
  const { max_tokens, messages, stream } = body;
  const prompt = messages.reduce((sum: number, { content }: Body) => sum + content.length, 0);
  // Some servers ignore `max_completion_tokens`.
  const limit = max_tokens ?? 100_000;
  counted.tokens += prompt;
  counted.open += 1;
  response.once('close', () => {
    counted.open -= 1;
  });
  if (stream) beginStream(response);
  let generated = 0;
  const step = () => {
    if (response.destroyed) return clearInterval(timer);
    for (let n = 0; n < 5 && generated < limit; n += 1) {
      generated += 1;
      counted.tokens += 1;
      if (stream && generated > limit / 2) response.write(chunk({ content: 'x' }));
    }
    if (generated < limit) return;
    clearInterval(timer);
    const usage = usageOf(prompt, generated);
    if (stream) return response.end(`${chunk({}, 'length')}${event(usage)}data: [DONE]\n\n`);
    const message = { role: 'assistant', content: 'x'.repeat(limit / 2) };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ ...head, ...usage, choices: [{ index: 0, message, finish_reason: 'length' }] }),
    );
  };
  const timer = setInterval(step, 2);
});

const { url } = upstream;
const few = Array.from({ length: 21 }, (_, n) => `few-${n}`);
const { env } = upstreamsFile({
  upstreams: [
    { name: 'a', kind: 'openai', url },
    { name: 'narrow', kind: 'openai', url, concurrency: 1 },
    { name: 'late', kind: 'openai', url: late },
    { name: 'counting', kind: 'openai', url: counting },
  ],
  models: [
    { name: 'm', targets: [{ upstream: 'a', model: 'test-model', prices }] },
    ...few.map((name) => ({ name, targets: [{ upstream: 'a', prices }] })),
    { name: 'alone', targets: [{ upstream: 'narrow', model: 'test-model' }] },
    { name: 'late', targets: [{ upstream: 'late' }] },
    { name: 'counting', targets: [{ upstream: 'counting' }] },
    { name: 'vectors', task: 'embeddings', targets: [{ upstream: 'a', prices: { input: 2 } }] },
    { name: 'pictures', task: 'images', targets: [{ upstream: 'a', prices: { image: PER_IMAGE } }] },
  ],
});

const chat = { message: 'Hello', model: 'm', store: false };
const messages = [{ role: 'user', content: 'Hello' }];

onEachDatabase(
  t,
  { ...env, ...operatorEnv, ...plansFile(t, { tokens: LIMIT }), DEFAULT_MAX_OUTPUT_TOKENS: String(MOST) },
  async (t, service) => {
    const { app, client } = service;
    const operator = await signInOperator(service);
    t.beforeEach(() => upstream.reset());

    async function signUp(plan = 'small') {
      const owner = await client.signUp();
      if (plan !== 'small')
        await client.request('PUT', '/subscription', { ...owner, body: { plan, billing_period: 'monthly' } });
      const { key } = await client.createKey(owner);
      return { ...owner, key };
    }
    const usage = async ({ cookie }: Owner) => (await client.get('/usage', { cookie })).body;
    /** The newest request of an account, as operators see it. */
    const logged = async ({ accountId }: Owner): Promise<Body> =>
      (await client.get(`/operator/accounts/${accountId}/requests`, operator)).body.data[0];

    /** A request whose client can leave. */
    function leavable(path: string, body: object, key: string) {
      const controller = new AbortController();
      const status = fetch(`${client.origin}/api/v1${path}`, {
        ...{ method: 'POST', signal: controller.signal, body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      }).then(
        async (response) => {
          await response.text();
          return response.status;
        },
        () => undefined,
      );
      return { status: status.catch(() => undefined), leave: () => controller.abort() };
    }

    /** Sends a request that the upstream does not answer. Returns once it has it. */
    async function sent(path: string, body: object, key: string) {
      await upstream.configure({ headersDelayMs: 60_000 });
      const { calls } = await upstream.calls();
      const request = leavable(path, body, key);
      await eventually('the upstream has it', async () => (await upstream.calls()).calls > calls);
      return request;
    }

    const settled = (owner: Owner) =>
      eventually('it is settled', async () => {
        const row = await logged(owner);
        return row?.state === 'final' && (await usage(owner)).reserved_tokens === 0;
      });

    for (const [what, path, body] of [
      ['a whole answer', '/chat', chat],
      ['a stream before its first output', '/chat', { ...chat, stream: true }],
      ['embeddings', '/embeddings', { model: 'vectors', input: 'Hello' }],
    ] as const)
      await t.test(`the client leaves ${what}: all that was reserved counts, and costs`, async (t) => {
        const owner = await signUp();
        const { leave } = await sent(path, body, owner.key);
        const { reserved_tokens: reserved } = await usage(owner);
        leave();
        await settled(owner);
        t.ok(reserved > 0);
        t.equal((await usage(owner)).used.tokens, reserved);
        const row = await logged(owner);
        t.match(row, { status: 499, model: body.model, upstream: 'a', attempts: 1 });
        t.equal(row.input_tokens + row.output_tokens, reserved);
        t.equal(row.cost_micros, row.input_tokens * prices.input + row.output_tokens * prices.output);
      });

    await t.test('without a limit of tokens, what is known counts, and costs', async (t) => {
      const tokens = Math.ceil('Hello'.length / 4);
      for (const [path, body, cost] of [
        ['/chat', chat, tokens * prices.input],
        ['/chat', { ...chat, stream: true }, tokens * prices.input],
        ['/embeddings', { model: 'vectors', input: 'Hello' }, tokens * prices.input],
        ['/images/generations', { model: 'pictures', prompt: 'Hello', n: 2 }, 2 * PER_IMAGE * 1_000_000],
      ] as const) {
        const owner = await signUp('large');
        const { leave } = await sent(path, body, owner.key);
        leave();
        await eventually(`${path} is settled`, async () => (await logged(owner))?.state === 'final');
        const row = await logged(owner);
        t.match(row, { status: 499, model: body.model, upstream: 'a', cost_micros: cost }, path);
        t.equal((await usage(owner)).used.tokens, 'prompt' in body ? 0 : tokens);
      }
    });

    for (const [what, end] of [
      ['leaves', async ({ leave }) => leave()],
      [
        'stops',
        async ({ next, rest }, { key }) => {
          const { id } = (await next())?.data ?? {};
          t.equal((await client.post(`/chat/${id}/cancel`, undefined, { key })).status, 200);
          const { usage: told } = (await rest()).at(-1)?.data ?? {};
          t.ok(told.output_tokens < MOST, 'its client is told an estimate');
        },
      ],
    ] as [
      string,
      (stream: Awaited<ReturnType<typeof openStream>>, owner: { key: string }) => Promise<void>,
    ][])
      await t.test(`the client ${what} within a stream: all that was reserved counts`, async (t) => {
        await upstream.configure({ chunks: 2000, chunkIntervalMs: 20 });
        const owner = await signUp();
        const stream = await openStream(client, '/chat', { ...chat, stream: true }, owner);
        const { reserved_tokens: reserved } = await usage(owner);
        await end(stream, owner);
        await settled(owner);
        t.ok(reserved > MOST);
        t.equal((await usage(owner)).used.tokens, reserved);
      });

    await t.test('a stream breaks off: all that was reserved counts', async (t) => {
      await upstream.configure({ chunks: 50, chunkIntervalMs: 20, fault: 'cut', faultAfter: 10 });
      const owner = await signUp();
      const { body } = await client.post('/chat', { ...chat, stream: true }, owner);
      t.equal(body.at(-1).event, 'error');
      await settled(owner);
      t.match(await logged(owner), { status: 502, output_tokens: MOST });
    });

    await t.test('a whole answer is stopped: all that was reserved counts', async (t) => {
      const owner = await signUp();
      const headers = { 'idempotency-key': randomUUID() };
      await upstream.configure({ headersDelayMs: 60_000 });
      const { calls } = await upstream.calls();
      const answer = client.post('/chat', chat, { key: owner.key, headers });
      await eventually('the upstream has it', async () => (await upstream.calls()).calls > calls);
      const { reserved_tokens: reserved } = await usage(owner);
      await client.post('/chat/cancel', { idempotency_key: headers['idempotency-key'] }, { key: owner.key });
      t.match((await answer).body, { stopped: true, usage: { output_tokens: 0 } });
      t.equal((await usage(owner)).used.tokens, reserved);
    });

    await t.test('a request is stopped before an upstream was called: no tokens count', async (t) => {
      const [first, second] = [await signUp(), await signUp()];
      const { leave } = await sent('/chat', { ...chat, model: 'alone' }, first.key);
      const key = randomUUID();
      const answer = client.post(
        '/chat',
        { ...chat, model: 'alone' },
        { key: second.key, headers: { 'idempotency-key': key } },
      );
      const open = () => app.engines.router?.health().find(({ name }) => name === 'narrow')?.open;
      await eventually('it waits for a connection', async () => open() === 2);
      await client.post('/chat/cancel', { idempotency_key: key }, { key: second.key });
      t.match(await answer, { status: 200, body: { stopped: true } });
      t.match(await usage(second), { used: { chat: 1, tokens: 0 }, reserved_tokens: 0 });
      leave();
      await settled(first);
    });

    await t.test('an upstream that reports nothing: the bytes of a whole answer count', async (t) => {
      await upstream.configure({ usage: 'never' });
      for (const stream of [false, true]) {
        const owner = await signUp();
        const { body } = await client.post('/chat', { ...chat, message: 'Grüße', stream }, owner);
        const { usage: told } = stream ? body.at(-1).data : body;
        const { input_tokens: input, output_tokens: output } = await logged(owner);
        t.equal(output, Buffer.byteLength('You said: Grüße'), `${stream}`);
        t.ok(told.output_tokens < output, 'its client is told an estimate');
        t.ok(input > Buffer.byteLength('Grüße'));
        t.equal((await usage(owner)).used.tokens, input + output);
      }
      const owner = await signUp();
      await upstream.configure({
        embeddings: { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0, 1] }] },
      });
      t.equal((await client.post('/embeddings', { model: 'vectors', input: 'Grüße' }, owner)).status, 200);
      t.ok((await usage(owner)).used.tokens >= Buffer.byteLength('Grüße'));
    });

    await t.test('a failure that stays charged: all that was reserved counts', async (t) => {
      await upstream.configure({ choices: 1 });
      const owner = await signUp();
      for (const [index, model] of few.entries()) {
        const { body, status } = await client.post('/chat/completions', { messages, model, n: 2 }, owner);
        t.equal(status, 400);
        t.equal(body.error.charged, index < 20 ? undefined : true);
      }
      const row = await logged(owner);
      t.match(row, { status: 400, upstream: 'a', output_tokens: 2 * MOST });
      t.equal((await usage(owner)).used.tokens, row.input_tokens + row.output_tokens);
      t.ok(row.cost_micros > 2 * MOST * prices.output);
    });

    await t.test('a client that leaves with the end of a stream: what was reported counts', async (t) => {
      const owner = await signUp();
      const stream = await openStream(
        client,
        '/chat/completions',
        { messages, model: 'late', stream: true },
        owner,
      );
      for (let next = await stream.next(); next !== undefined; next = await stream.next())
        if (next.data.choices?.[0]?.finish_reason) break;
      stream.leave();
      await settled(owner);
      t.equal((await usage(owner)).used.tokens, 7);
    });

    await t.test(
      'clients leave at random: no more is generated than counts, nor than the limit',
      async (t) => {
        counted.tokens = 0;
        const owner = await signUp();
        const ends = { left: 0, whole: 0, refused: 0 };
        while (ends.refused < 20)
          await Promise.all(
            Array.from({ length: 6 }, async (_, n) => {
              const body = { ...chat, model: 'counting', stream: n % 2 === 0, max_output_tokens: 300 };
              const { leave, status } = leavable('/chat', body, owner.key);
              if (n > 0) void delay(Math.random() * 200).then(leave);
              const seen = await status;
              if (seen === 429) ends.refused += 1;
              else if (seen === 200) ends.whole += 1;
              else ends.left += 1;
            }),
          );
        await eventually('the upstream has finished', async () => counted.open === 0);
        await eventually('all is settled', async () => (await usage(owner)).reserved_tokens === 0);
        const { used } = await usage(owner);
        t.comment(`${JSON.stringify(ends)}, generated ${counted.tokens}, counted ${used.tokens}`);
        t.ok(ends.left > 5 && ends.whole > 0);
        t.ok(counted.tokens > 0 && counted.tokens <= used.tokens, 'what was generated counts');
        t.ok(used.tokens <= LIMIT, 'and is within the limit');
      },
    );

    await t.test('the ledger agrees', async (t) => {
      t.same((await audit(service.database.db)).differences, []);
    });
  },
);
