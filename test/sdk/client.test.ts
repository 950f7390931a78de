// The SDK's sources against a running service. package.long.test.ts tests the package that `make sdk` builds.
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createParley, newIdempotencyKey, ParleyError, type ParleyOptions } from '../../src/sdk/index.ts';
import { abortSeen, rejection } from '../clients/parley.ts';
import { plansFile, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

/** The chat limit of the plan `small`. */
const CEILING = 2;
const { client } = await startTestService(t, 'postgres', {
  ...plansFile(t, { chat: CEILING }),
  CHAT_URL: upstream.url,
});
const at = (options: Partial<ParleyOptions>) => createParley({ baseUrl: client.origin, ...options });

/** Creates an account on a plan, and clients for its owner and its key. */
async function account(plan: 'small' | 'large' = 'large') {
  const { cookie } = await client.signUp();
  const owner = at({ headers: { cookie } });
  await owner.updateSubscription({ plan, billing_period: 'monthly' });
  const { key } = await owner.createKey({ name: 'SDK', scopes: ['chat', 'usage'] });
  return { owner, key, parley: at({ apiKey: key }) };
}

async function errorOf(promise: PromiseLike<unknown>): Promise<ParleyError> {
  const { error } = await rejection(promise);
  if (error instanceof ParleyError) return error;
  throw error;
}

/** A `fetch` that counts requests and drops the response to the first one. */
function losingFirst() {
  const seen = { count: 0 };
  const fetch = async (request: Request) => {
    seen.count += 1;
    const isLost = seen.count === 1;
    const answer = await globalThis.fetch(request);
    if (!isLost) return answer;
    await answer.text();
    throw new TypeError('fetch failed');
  };
  return { seen, fetch };
}

t.test('operations are methods that take paths, queries, and bodies as one object', async (t) => {
  const { owner, parley } = await account();
  t.match(await owner.listPlans(), { data: [{ id: 'small' }, { id: 'large' }] });
  const [first] = (await owner.listKeys()).data;
  t.equal(first?.name, 'SDK');
  const id = first?.id ?? '';
  const changed = await owner.updateKey({ id, allowed_origins: ['https://app.example.com'] });
  t.strictSame(changed.allowed_origins, ['https://app.example.com']);
  const begun = await parley.chat({ message: 'Hello' });
  t.match(await parley.chat({ message: 'Again', conversation_id: begun.conversation_id ?? '' }), {
    reply: 'You said: Again',
  });
  t.equal((await owner.listRequests({ limit: 1 })).data.length, 1, 'limit is sent as a query parameter');
  t.equal((await parley.getUsage()).used.chat, 2);
  t.equal(await owner.revokeKey({ id }), undefined);
  t.match(await errorOf(parley.getUsage()), { code: 'apiKeyRevoked', status: 401 });
});

t.test('errors have the code, the request ID, and the details of the response', async (t) => {
  const { owner, parley } = await account('small');
  for (let count = 0; count < CEILING; count += 1) await parley.chat({ message: 'Hello' });
  const spent = await errorOf(parley.chat({ message: 'One more' }));
  t.match(spent, {
    code: 'quotaExceeded',
    status: 429,
    requestId: /^[0-9a-f-]{36}$/,
    limit: { name: 'chat', ceiling: CEILING, resetsAt: /T00:00:00\.000Z$/ },
    docs: /quotaexceeded$/i,
  });
  t.ok((spent.retryAfter ?? 0) > 0);
  t.equal(spent.isTransient, false);
  const invalid = await errorOf(owner.createKey({ name: '', scopes: [] }));
  t.match(invalid, { code: 'invalidRequest', status: 400 });
  t.ok(invalid.details.length > 0);
  t.match(await errorOf(at({ apiKey: 'parley_x' }).getUsage()), { code: 'invalidApiKey', status: 401 });
  t.throws(() => createParley({ baseUrl: `${client.origin}/api/v1` }), TypeError);
});

t.test('streamChat yields typed events, and throws errors before or within the stream', async (t) => {
  const { parley } = await account('small');
  let text = '';
  let reply: string | undefined;
  const events: string[] = [];
  for await (const event of parley.streamChat({ message: 'Hello' })) {
    events.push(event.event);
    if (event.event === 'delta') text += event.data.text;
    if (event.event === 'done') reply = event.data.reply;
  }
  t.equal(text, 'You said: Hello');
  t.equal(reply, text);
  t.strictSame([events[0], events.at(-1)], ['start', 'done']);

  const chunks: string[] = [];
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  for await (const { choices } of parley.streamChatCompletion({ model: 'test-model', messages }))
    chunks.push(choices[0]?.delta.content ?? '');
  t.equal(chunks.join(''), 'You said: Hello');

  const other = await account('small');
  await upstream.configure({ chunks: 20, chunkIntervalMs: 20, fault: 'cut', faultAfter: 5 });
  const seen: string[] = [];
  const broken = (async () => {
    for await (const { event } of other.parley.streamChat({ message: 'Hello' })) seen.push(event);
  })();
  t.match(await errorOf(broken), { code: 'upstreamError' });
  t.equal(seen[0], 'start');
  t.match(await errorOf(parley.streamChat({ message: 'Hello' }).next()), { code: 'quotaExceeded' });
});

t.test('streamChat: aborting the signal or leaving the loop stops the reply', async (t) => {
  const { parley } = await account();
  await upstream.configure({ chunks: 10_000, chunkIntervalMs: 20 });
  const controller = new AbortController();
  let since = 0;
  const reading = (async () => {
    for await (const { event } of parley.streamChat({ message: 'Hello' }, { signal: controller.signal }))
      if (event === 'delta' && !controller.signal.aborted) {
        since = Date.now();
        controller.abort();
      }
  })();
  t.match((await rejection(reading)).error, { name: 'AbortError' });
  t.ok((await abortSeen(upstream, since)) < 1000);

  await upstream.reset();
  await upstream.configure({ chunks: 10_000, chunkIntervalMs: 20 });
  for await (const { event } of parley.streamChat({ message: 'Hello' })) if (event === 'delta') break;
  t.ok((await abortSeen(upstream, Date.now())) < 1000);
});

t.test('a request whose response is lost is retried if it is idempotent, and charged once', async (t) => {
  const { key, parley } = await account();
  const { fetch, seen } = losingFirst();
  const unlucky = at({ apiKey: key, fetch });
  const idempotencyKey = newIdempotencyKey();
  const answer = await unlucky.chat({ message: 'Hello' }, { idempotencyKey });
  t.equal(seen.count, 2);
  t.match(await parley.chat({ message: 'Hello' }, { idempotencyKey }), { id: answer.id }, 'the same reply');
  t.equal((await parley.getUsage()).used.chat, 1);

  const without = losingFirst();
  const lost = await errorOf(at({ apiKey: key, fetch: without.fetch }).chat({ message: 'Hello' }));
  t.match(lost, { code: 'connectionFailed', status: 0, requestId: null, isTransient: true });
  t.equal(without.seen.count, 1, 'without an idempotency key, a charged request is not retried');

  const reading = losingFirst();
  t.equal((await at({ apiKey: key, fetch: reading.fetch }).getUsage()).used.chat, 2);
  t.equal(reading.seen.count, 2, 'GET requests are retried');
});

t.test(
  'of two concurrent requests with the same idempotency key, the second waits for the response to the first',
  async (t) => {
    const { parley } = await account();
    await upstream.configure({ headersDelayMs: 400 });
    const options = { idempotencyKey: newIdempotencyKey() };
    const ids = await Promise.all([1, 2].map(() => parley.chat({ message: 'Hello' }, options)));
    t.equal(ids[0]?.id, ids[1]?.id);
    t.equal((await parley.getUsage()).used.chat, 1);
  },
);

t.test(
  'a 503 from a gateway is retried after Retry-After, and an unreadable response is an error',
  async (t) => {
    const { key } = await account();
    const answers: ((response: ServerResponse) => void)[] = [];
    const gateway = createServer((request, response) => {
      const answer = answers.shift();
      if (answer) return answer(response);
      const onward = httpRequest(
        client.origin + request.url,
        { method: request.method, headers: request.headers },
        (got) => {
          response.writeHead(got.statusCode ?? 502, got.headers);
          got.pipe(response);
        },
      );
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    t.teardown(() => gateway.close());
    const baseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const parley = at({ baseUrl, apiKey: key });

    answers.push((response) => response.writeHead(503, { 'retry-after': '1' }).end('<h1>Soon</h1>'));
    const startedAt = performance.now();
    t.match(await parley.getUsage(), { plan: 'large' });
    t.ok(performance.now() - startedAt >= 1000, 'retried after Retry-After');

    answers.push((response) => response.writeHead(503, { 'retry-after': '3600' }).end());
    t.match(await errorOf(parley.getUsage()), { code: 'unreadableAnswer', status: 503, retryAfter: 3600 });

    answers.push((response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>'),
    );
    t.match(await errorOf(parley.getUsage()), { code: 'unreadableAnswer' });

    answers.push((response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n'),
    );
    t.match(await errorOf(parley.streamChat({ message: 'Hello' }).next()), { code: 'connectionFailed' });
  },
);
