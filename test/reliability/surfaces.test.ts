// Guarantees of every chat surface: exact charges, aborts, retries, and no silent end of a stream.
import t, { type Test } from 'tap';
import { openStream, type ServerEvent } from '../support/event-reader.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { lastCharge, lastChargeBecomes } from '../support/spending.ts';
import { type Surface, surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const CHUNKS = 3;

function commonTests(t: Test, service: TestService, surface: Surface) {
  const { client } = service;
  const { path } = surface;
  const endpoint = `POST /api/v1${path}`;

  const newCaller = async (scopes?: string[]) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner, scopes && { scopes });
    const used = async () => (await client.get('/usage', { cookie: owner.cookie })).body.used.chat;
    return { ...owner, key, used };
  };

  t.test(
    'streamed and unstreamed replies have the same text, and each is charged one unit and logged with its tokens',
    async (t) => {
      const { accountId, cookie, key, used } = await newCaller();
      const whole = await client.post(path, surface.body('Hello there'), { key });
      t.equal(whole.status, 200, whole.text);
      t.equal(surface.textOf(whole.body), 'You said: Hello there');
      const charge = await lastCharge(service, accountId);
      t.match(charge, { state: 'final', status: 200, units: 1, input_tokens: 2, output_tokens: 4 });

      const streamed = await client.post(path, surface.body('Hello there', { stream: true }), { key });
      const events: ServerEvent[] = streamed.body;
      t.equal(surface.streamedText(events), 'You said: Hello there');
      t.ok(surface.isEnd(events.at(-1) as ServerEvent));
      t.equal(events.filter(surface.isEnd).length, 1);
      t.notOk(events.some((event) => surface.errorCodeOf(event)));
      t.match(await lastChargeBecomes(service, accountId, { output_tokens: 4 }), { ...charge });
      t.equal(await used(), 2);
      for (const { headers } of [whole, streamed]) t.match(headers.get('ratelimit'), /"chat"/);

      const log = await client.get(`/requests?endpoint=${encodeURIComponent(endpoint)}`, { cookie });
      t.match(log.body.data, [
        { endpoint, units: 1, status: 200 },
        { endpoint, units: 1, status: 200 },
      ]);
    },
  );

  t.test(
    'a stream that fails is refunded before its first chunk, and ends with an error event after it',
    async (t) => {
      const { accountId, key, used } = await newCaller();
      let delivered = 0;
      for (const fault of ['truncate', 'cut', 'error-event'] as const) {
        for (let faultAfter = 0; faultAfter <= CHUNKS; faultAfter += 1) {
          await upstream.configure({ chunks: CHUNKS, chunkIntervalMs: 20, fault, faultAfter });
          const answer = await client.post(path, surface.body('Hello', { stream: true }), { key });
          const what = `${fault} after ${faultAfter}`;
          if (answer.status === 200) {
            delivered += 1;
            const events: ServerEvent[] = answer.body;
            t.equal(surface.failureOf(events), 'upstreamError', what);
            t.notOk(events.some(surface.isEnd), `${what}: the stream does not look complete`);
            await lastChargeBecomes(service, accountId, { state: 'final', code: 'upstreamError' });
          } else {
            t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } }, what);
            t.equal(faultAfter, 0, `${what}: nothing was delivered`);
            await lastChargeBecomes(service, accountId, { state: 'refunded' });
          }
        }
      }
      t.equal(await used(), delivered, 'every delivered stream is charged');
      t.equal(delivered, 3 * CHUNKS);
    },
  );

  t.test(
    'when the client disconnects, the upstream request is aborted within a second and one unit is charged',
    async (t) => {
      const { accountId, key, used } = await newCaller();
      await upstream.configure({ chunks: 10_000, chunkIntervalMs: 20 });
      const stream = await openStream(client, path, surface.body('Hello', { stream: true }), { key });
      const events: ServerEvent[] = [];
      while (surface.streamedText(events) === '') events.push((await stream.next()) as ServerEvent);
      const leftAt = Date.now();
      stream.leave();
      await eventually(
        'the upstream request is aborted',
        async () => (await upstream.onlyCall()).abortedAt !== null,
      );
      const seenAfter = ((await upstream.onlyCall()).abortedAt ?? 0) - leftAt;
      t.ok(seenAfter < 1000, `aborted after ${seenAfter} ms`);
      await lastChargeBecomes(service, accountId, { state: 'final', status: 499 });
      t.equal(await used(), 1);
    },
  );

  t.test('Idempotency-Key: a retry gets the same reply without a charge, streamed or not', async (t) => {
    const { key, used } = await newCaller();
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': crypto.randomUUID() };
      const body = surface.body('Hello there', { stream });
      const first = await client.post(path, body, { key, headers });
      const again = await client.post(path, body, { key, headers });
      t.equal(again.status, 200);
      t.equal(again.headers.get('idempotency-replayed'), 'true');
      if (stream) {
        t.equal(surface.streamedText(again.body), surface.streamedText(first.body));
        t.ok(surface.isEnd(again.body.at(-1)));
      } else t.equal(again.text, first.text);
      const other = await client.post(path, surface.body('Something else', { stream }), { key, headers });
      t.match(other, { status: 422, body: { error: { code: 'idempotencyMismatch' } } });
    }
    t.equal(await used(), 2);
    t.equal((await upstream.calls()).chat, 2);
  });

  t.test('refused requests are not charged: scope, model, and body', async (t) => {
    const { key, used } = await newCaller();
    const narrow = await newCaller(['models']);
    const refused = async (key: string, body: object, expected: object) =>
      t.match(await client.post(path, body, { key }), expected);
    await refused(narrow.key, surface.body('Hello'), {
      status: 403,
      body: { error: { code: 'insufficientScope' } },
    });
    const stranger = { ...surface.body('Hello'), model: 'nobody' };
    await refused(key, stranger, { status: 404, body: { error: { code: 'notFound', param: 'model' } } });
    await refused(key, {}, { status: 400, body: { error: { code: 'invalidRequest' } } });
    t.equal(await used(), 0);
    t.equal((await client.post(path, surface.body('Hello'), { key })).status, 200);
    t.equal((await client.post(path, surface.body('Hello', { stream: true }), { key })).status, 200);
    for (const stream of [false, true]) {
      const answer = await client.post(path, surface.body('Hello', { stream }), { key: narrow.key });
      t.equal(answer.status, 403);
    }
    t.equal((await upstream.calls()).chat, 2);
  });

  t.test('an upstream that fails before its first byte causes an error and a refund', async (t) => {
    const { accountId, key, used } = await newCaller();
    for (const stream of [false, true]) {
      await upstream.configure({ fault: 'status', status: 500 });
      const answer = await client.post(path, surface.body('Hello', { stream }), { key });
      t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } });
      t.notMatch(answer.text, /CANARY/);
      await lastChargeBecomes(service, accountId, { state: 'refunded' });
      await upstream.configure({
        ...{ fault: 'status', status: 400 },
        ...{ code: 'context_length_exceeded', message: 'Too long.' },
      });
      t.match(await client.post(path, surface.body('Hello', { stream }), { key }), {
        status: 400,
        body: { error: { code: 'invalidRequest', reason: 'context_length_exceeded' } },
      });
    }
    t.equal(await used(), 0);
  });
}

onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
  t.beforeEach(() => upstream.reset());
  for (const surface of surfaces)
    t.test(surface.path, async (t) => {
      t.beforeEach(() => upstream.reset());
      commonTests(t, service, surface);
    });
});

onEachDatabase(t, plansFile(t, { chat: 1 }), async (t, { client }) => {
  for (const surface of surfaces) {
    t.test(
      `${surface.path}: an exceeded quota is a 429 that tells clients not to retry and charges nothing`,
      async (t) => {
        const owner = await client.signUp();
        const { key } = await client.createKey(owner);
        t.equal((await client.post(surface.path, surface.body('Hello'), { key })).status, 200);
        for (const stream of [false, true]) {
          const answer = await client.post(surface.path, surface.body('Hello', { stream }), { key });
          t.match(answer, {
            status: 429,
            body: { error: { code: 'quotaExceeded', limit: { name: 'chat', ceiling: 1 } } },
          });
          t.equal(answer.headers.get('x-should-retry'), 'false');
          t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
        }
        t.equal((await client.get('/usage', { cookie: owner.cookie })).body.used.chat, 1);
      },
    );
  }
});

onEachDatabase(t, { CHAT_URL: upstream.url, STREAMS_PER_ACCOUNT: '1' }, async (t, { client }) => {
  for (const surface of surfaces) {
    t.test(`${surface.path}: concurrent streams are limited`, async (t) => {
      await upstream.configure({ chunks: 10_000, chunkIntervalMs: 20 });
      const { key } = await client.createKey(await client.signUp());
      const body = surface.body('Hello', { stream: true });
      const stream = await openStream(client, surface.path, body, { key });
      await stream.next();
      t.match(await client.post(surface.path, body, { key }), {
        status: 429,
        body: { error: { code: 'tooManyStreams' } },
      });
      stream.leave();
    });
  }
});
