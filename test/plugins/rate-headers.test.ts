import t from 'tap';
import type { OpenApi } from '../support/http.ts';
import { limitFields } from '../support/rate-headers.ts';
import { type Documented, resolved } from '../support/response-checker.ts';
import { onEachDatabase, plansFile, startTestService } from '../support/service.ts';
import { chatSurface, surfaces } from '../support/surfaces.ts';

const rateNames = ['limit', 'remaining', 'reset'];
const isWholeNumber = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;

onEachDatabase(t, plansFile(t, { chat: 3, search: 50 }, 40), async (t, { client }) => {
  const owner = await client.signUp();
  const { cookie } = owner;
  const { key } = await client.createKey(owner);

  await t.test(
    'a metered request reports its minute and daily limits, and the tighter one in the three RateLimit-* headers',
    async (t) => {
      const answer = await client.post('/chat', { message: 'Hello', store: false }, { key });
      t.equal(answer.status, 200);
      const fields = limitFields(answer);
      t.match(fields, {
        three: { limit: 3, remaining: 2 },
        policies: { requests: { q: 40, w: 60 }, chat: { q: 3, w: 86_400 } },
        limits: { requests: { r: 39 }, chat: { r: 2 } },
      });
      const toMidnight = (86_400_000 - (Date.now() % 86_400_000)) / 1000;
      t.ok(Math.abs((fields?.three.reset ?? Number.NaN) - toMidnight) < 60);
      t.equal(fields?.limits.chat?.t, Number(answer.headers.get('ratelimit-reset')));
      t.ok((fields?.limits.requests?.t ?? Number.NaN) <= 60);

      const search = limitFields(await client.post('/search', { query: 'create a key' }, { key }));
      t.match(search, {
        three: { limit: 40, remaining: 38 },
        limits: { requests: { r: 38 }, search: { r: 49 } },
      });
    },
  );

  for (const { body, path } of [chatSurface, ...surfaces])
    await t.test(`${path} reports both limits, streaming or not`, async (t) => {
      const { cookie } = await client.signUp();
      for (const [before, stream] of [false, true].entries()) {
        const answer = await client.post(path, body('Hello', { stream }), { cookie });
        t.match(answer.headers.get('content-type'), stream ? /^text\/event-stream/ : /^application\/json/);
        t.match(limitFields(answer), {
          three: { limit: 3, remaining: 2 - before },
          policies: { requests: { q: 40, w: 60 }, chat: { q: 3, w: 86_400 } },
          limits: { requests: { r: 39 - before }, chat: { r: 2 - before } },
        });
      }
    });

  await t.test('an uncharged request reports only the minute limit', async (t) => {
    for (const answer of [
      await client.get('/models', { key }),
      await client.post('/chat', {}, { key }),
      await client.get('/conversations/01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f', { key }),
    ]) {
      const fields = limitFields(answer);
      t.strictSame(Object.keys(fields?.limits ?? {}), ['requests'], String(answer.status));
      t.strictSame(fields?.policies, { requests: { q: 40, w: 60 } });
      t.equal(fields?.three.limit, 40);
    }
  });

  await t.test('quotaExceeded: the headers report only the daily quota and when to retry', async (t) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const partly = await client.post('/chat/completions', { messages, n: 3 }, { key });
    t.match(limitFields(partly), { three: { limit: 3, remaining: 2 }, limits: { chat: { r: 2 } } });
    t.equal((await client.post('/chat/completions', { messages, n: 2 }, { key })).status, 200);
    const answer = await client.post('/chat', { message: 'Hello' }, { key });
    t.match(answer, {
      status: 429,
      body: { error: { code: 'quotaExceeded', limit: { name: 'chat', ceiling: 3 } } },
    });
    const fields = limitFields(answer);
    t.match(fields, { three: { limit: 3, remaining: 0 } });
    t.strictSame(fields?.policies, { chat: { q: 3, w: 86_400 } });
    t.strictSame(Object.keys(fields?.limits ?? {}), ['chat']);
    t.ok(Number(answer.headers.get('retry-after')) >= (fields?.limits.chat?.t ?? Number.NaN));
    t.equal(answer.headers.get('x-should-retry'), 'false');
  });

  await t.test('a meter without a limit is not reported', async (t) => {
    await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie });
    const answer = await client.post('/chat', { message: 'Hello', store: false }, { key });
    t.equal(answer.status, 200);
    t.strictSame(Object.keys(limitFields(answer)?.limits ?? {}), ['requests']);
    t.equal(answer.headers.get('ratelimit-limit'), '1000000');
  });

  await t.test(
    '429 apiKeyLimitReached has no rate limit headers, because waiting does not help',
    async (t) => {
      for (let n = 0; n < 4; n += 1) await client.createKey(owner);
      const answer = await client.post('/keys', { name: 'Sixth', scopes: ['chat'] }, { cookie });
      t.match(answer, { status: 429, body: { error: { code: 'apiKeyLimitReached' } } });
      t.equal(limitFields(answer), undefined);
      for (const name of ['retry-after', 'x-should-retry']) t.equal(answer.headers.get(name), null, name);
    },
  );
});

t.test('a failed request reports the refunded quota as remaining', async (t) => {
  const service = await startTestService(t, 'postgres', plansFile(t, { chat: 3 }));
  const { app, client } = service;
  const owner = await client.signUp();
  app.engines.chat.complete = async () => {
    throw new Error('The engine broke.');
  };
  const answer = await client.post('/chat', { message: 'Hello' }, { cookie: owner.cookie });
  t.equal(answer.status, 500);
  t.match(limitFields(answer), { three: { limit: 3, remaining: 3 }, limits: { chat: { r: 3 } } });
});

// Generated from the registered routes, so that new routes are covered automatically.
t.test(
  'every authenticated operation sends and documents both families of rate limit headers, whatever the status',
  async (t) => {
    const { app, client } = await startTestService(t, 'postgres');
    const document = app.swagger() as unknown as OpenApi;
    const { paths } = document;
    let covered = 0;
    for (const [template, item] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(item) as [
        string,
        { security: object[]; responses: object },
      ][]) {
        if (operation.security.length === 0) continue;
        const path = template.replace('/api/v1', '').replace('{id}', '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f');
        const owner = await client.signUp();
        const takesKeys = operation.security.some((one) => 'apiKey' in one);
        const key = takesKeys ? (await client.createKey(owner)).key : undefined;
        const credentials = [{ cookie: owner.cookie }, ...(key === undefined ? [] : [{ key }])];
        for (const credential of credentials) {
          const answer = await client.request(method.toUpperCase(), path, credential);
          const title = `${method} ${path} ${Object.keys(credential)[0]}: ${answer.status}`;
          const fields = limitFields(answer);
          t.ok(fields?.policies.requests && fields.limits.requests, title);
          for (const name of rateNames)
            t.ok(
              isWholeNumber(Number(answer.headers.get(`ratelimit-${name}`) ?? Number.NaN)),
              `${title} ${name}`,
            );
          covered += 1;
        }
        for (const response of Object.values(operation.responses)) {
          const { headers = {} } = resolved<Documented>(document, response);
          t.ok('RateLimit-Policy' in headers && 'X-Request-Id' in headers);
        }
      }
    }
    t.ok(covered > 20, `${covered} requests`);
  },
);

t.test('an unknown credential gets no rate limit headers', async (t) => {
  const { client } = await startTestService(t, 'postgres');
  for (const options of [{}, { key: 'nonsense' }, { cookie: 'parley_session=nonsense' }])
    for (const path of ['/usage', '/account'])
      t.equal(limitFields(await client.get(path, options)), undefined);
});
