// POST /embeddings, and plans that do not include its meter. Contract sections 5 and 14.
import t from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const MODEL = 'parley-builtin-embeddings';
type Row = { object: string; index: number; embedding: number[] };
const product = (one: number[], other: number[]) =>
  one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
const floatsOf = (base64: string) => {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
};

t.test('the built-in engine', async (t) => {
  onEachDatabase(t, plansFile(t, { embeddings: 50 }), async (t, service) => {
    const { client } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner, { scopes: ['search', 'usage'] });
    const used = async () => (await client.get('/usage', { key })).body.used.embeddings;
    const embed = (body: unknown) => client.post('/embeddings', body, { key });
    const vectors = async (input: unknown, fields = {}): Promise<number[][]> =>
      (await embed({ input, ...fields })).body.data.map(({ embedding }: Row) => embedding);

    await t.test("POST /embeddings 200: has OpenAI's format, and charges one unit per input", async (t) => {
      const answer = await embed({ input: ['Open the door', 'open the DOOR!', 'A quiet sea'] });
      t.equal(answer.status, 200);
      t.match(answer.body, { object: 'list', model: MODEL, usage: { prompt_tokens: 9, total_tokens: 9 } });
      const rows: Row[] = answer.body.data;
      t.same(
        rows.map(({ embedding, index, object }) => [object, index, embedding.length]),
        [0, 1, 2].map((index) => ['embedding', index, 256]),
      );
      for (const { embedding } of rows) t.ok(Math.abs(product(embedding, embedding) - 1) < 1e-6);
      t.same(rows[1]?.embedding, rows[0]?.embedding, 'case and punctuation are ignored');
      t.equal(await used(), 3);
      t.equal(answer.headers.get('ratelimit-remaining'), '47');
      t.match(await lastCharge(service, owner.accountId), { units: 3, model: MODEL, input_tokens: 9 });
      const { body } = await client.get('/requests?endpoint=POST+/api/v1/embeddings', {
        cookie: owner.cookie,
      });
      t.match(body.data, [{ meter: 'embeddings', units: 3, state: 'final', status: 200 }]);
    });

    await t.test(
      'POST /embeddings 200: base64 encodes the same numbers, and dimensions shortens the vector',
      async (t) => {
        const [plain = []] = await vectors('A quiet sea', { dimensions: 32, user: null, model: null });
        const answer = await embed({
          input: 'A quiet sea',
          dimensions: 32,
          encoding_format: 'base64',
          model: MODEL,
          user: 'me',
        });
        t.same(floatsOf(answer.body.data[0].embedding), plain);
        t.equal(plain.length, 32);
      },
    );

    await t.test('POST /embeddings 200: accepts a list of tokens, or a list of such lists', async (t) => {
      const [one] = await vectors([17, 4, 2]);
      t.same(await vectors([[17, 4, 2], [5]]), [one, ...(await vectors([5]))]);
    });

    await t.test(
      'POST /embeddings: invalid input is not charged, and the error names the field',
      async (t) => {
        const before = await used();
        const wrong: [Record<string, unknown>, string, RegExp][] = [
          [{}, 'input', /required/],
          [{ input: '' }, 'input', /at least 1 character/],
          [{ input: [] }, 'input', /at least 1 entry/],
          [{ input: ['a', 'b', ''] }, 'input.2', /at least 1 character/],
          [{ input: ['a', 3] }, 'input.1', /must be a string/],
          [{ input: [1, 2, -1] }, 'input.2', /at least 0/],
          [{ input: [[1], []] }, 'input.1', /at least 1 entry/],
          [{ input: [[1], [1, 'a']] }, 'input.1.1', /must be a whole number/],
          [{ input: 'x', dimensions: 0 }, 'dimensions', /at least 1/],
          [{ input: 'x', dimensions: 257 }, 'dimensions', /1 to 256/],
          [{ input: 'x', encoding_format: 'hex' }, 'encoding_format', /float, base64/],
          [{ input: 'x', surprise: 1 }, 'surprise', /known/],
          [{ input: Array(2049).fill('x') }, 'input', /at most 2048 entries/],
          [{ input: Array(300_001).fill(1) }, 'input', /300,000 tokens/],
          [{ input: Array(3).fill(Array(100_001).fill(1)) }, 'input', /300,000 tokens/],
          [{ input: Array(400_000).fill(1) }, 'input', /300,000 tokens/],
        ];
        for (const [body, param, message] of wrong) {
          const answer = await embed(body);
          t.match(
            answer,
            { status: 400, body: { error: { code: 'invalidRequest', param, message } } },
            `${JSON.stringify(body).slice(0, 60)}: ${answer.body.error?.message}`,
          );
        }
        const large = await client.post('/embeddings', undefined, {
          key,
          raw: `{"input":"${'x'.repeat(8 * 2 ** 20)}"}`,
        });
        t.match(large, { status: 413, body: { error: { message: /8 MiB/ } } });
        t.match(await embed({ input: 'x', model: 'text-embedding-3-small' }), {
          status: 404,
          body: { error: { code: 'notFound', param: 'model', message: new RegExp(MODEL) } },
        });
        t.equal(await used(), before);
      },
    );

    await t.test(
      'POST /embeddings 429: concurrent requests use exactly the quota, with all inputs or none',
      async (t) => {
        const left = 50 - (await used());
        const answers = await Promise.all(
          Array.from({ length: 40 }, () => embed({ input: ['a', 'b', 'c'] })),
        );
        const served = answers.filter(({ status }) => status === 200);
        t.equal(served.length, Math.floor(left / 3));
        t.ok(
          answers.every(({ body, status }) => status === 200 || body.error.code === 'quotaExceeded'),
          'the others exceed the quota',
        );
        const rest = left % 3;
        t.equal(await used(), 50 - rest);
        const small = await Promise.all(Array.from({ length: 10 }, () => embed({ input: 'a' })));
        t.equal(small.filter(({ status }) => status === 200).length, rest);
        t.equal(await used(), 50);
        const refused = await embed({ input: 'a' });
        t.match(refused.body.error.limit, { name: 'embeddings', ceiling: 50 });
        t.ok(Number(refused.headers.get('retry-after')) > 0);
        t.same((await audit(service.database.db)).differences, []);
        const { body } = await client.get('/usage/history?days=1', { cookie: owner.cookie });
        t.match(
          body.data.find(({ meter }: { meter: string }) => meter === 'embeddings'),
          { used: 50 },
        );
      },
    );
  });
});

t.test('a plan that does not include embeddings', async (t) => {
  onEachDatabase(t, plansFile(t, { chat: 1, embeddings: undefined }), async (t, { client, database }) => {
    const owner = await client.signUp();
    const { cookie } = owner;
    const { key } = await client.createKey(owner);
    const embed = () => client.post('/embeddings', { input: 'x' }, { key });

    await t.test(
      'POST /embeddings 429: the error says that the plan lacks embeddings, and not to retry',
      async (t) => {
        const answers = [await embed(), ...(await Promise.all(Array.from({ length: 20 }, embed)))];
        for (const { body, headers, status } of answers) {
          t.equal(status, 429);
          t.match(body.error, {
            code: 'quotaExceeded',
            message: /plan does not include embeddings/,
            limit: { name: 'embeddings', ceiling: 0 },
          });
          t.equal(headers.get('retry-after'), null);
          t.equal(headers.get('x-should-retry'), 'false');
        }
        t.same((await audit(database.db)).differences, []);
      },
    );

    await t.test('plans, the subscription, usage, and history omit embeddings', async (t) => {
      t.notOk('embeddings' in (await client.get('/plans')).body.data[0].limits);
      t.notOk('embeddings' in (await client.get('/subscription', { cookie })).body.limits);
      const usage = (await client.get('/usage', { key })).body;
      t.same(usage.used, { chat: 0, images: 0, search: 0, tokens: 0 });
      t.same(usage.limits, { chat: 1, images: null, search: null });
      const { data } = (await client.get('/usage/history?days=1', { cookie })).body;
      t.same(
        data.map(({ meter }: { meter: string }) => meter),
        ['chat', 'images', 'search', 'tokens'],
      );
    });

    await t.test('other quotas are unaffected', async (t) => {
      t.equal((await client.post('/chat', { message: 'Hi' }, { key })).status, 200);
      const spent = await client.post('/chat', { message: 'Hi' }, { key });
      t.match(spent.body.error, { code: 'quotaExceeded', message: /quota of 1 is used up/ });
      t.ok(Number(spent.headers.get('retry-after')) > 0);
    });

    await t.test('the history keeps embeddings used on an earlier plan', async (t) => {
      const change = (plan: string) =>
        client.put('/subscription', { plan, billing_period: 'monthly' }, { cookie });
      await change('large');
      t.equal((await embed()).status, 200);
      await change('small');
      t.equal((await embed()).status, 429);
      const { data } = (await client.get('/usage/history?days=1', { cookie })).body;
      t.match(
        data.find(({ meter }: { meter: string }) => meter === 'embeddings'),
        { used: 1 },
      );
    });
  });
});

t.test('an upstream', async (t) => {
  const env = {
    ...plansFile(t, { embeddings: 100 }),
    EMBEDDINGS_URL: upstream.url,
    EMBEDDINGS_MODEL: 'small=bge-m3, large',
  };
  onEachDatabase(t, env, async (t, service) => {
    const { client } = service;
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    const embed = (body: unknown, headers = {}) => client.post('/embeddings', body, { key, headers });
    const used = async () => (await client.get('/usage', { key })).body.used.embeddings;
    t.beforeEach(() => upstream.reset());

    await t.test('the upstream receives the body, and the response has the public model name', async (t) => {
      const answer = await embed({ input: ['A', 'B'], encoding_format: 'base64', user: null, dimensions: 3 });
      t.match(answer.body, { model: 'small', usage: { prompt_tokens: 6, total_tokens: 6 } });
      t.same(
        answer.body.data.map(({ embedding, index }: { index: number; embedding: string }) => [
          index,
          floatsOf(embedding).length,
        ]),
        [
          [0, 3],
          [1, 3],
        ],
      );
      t.same((await upstream.onlyCall()).body, {
        input: ['A', 'B'],
        encoding_format: 'base64',
        dimensions: 3,
        model: 'bge-m3',
      });
      t.match(await lastCharge(service, owner.accountId), { units: 2, model: 'small', input_tokens: 6 });
      t.match((await client.get('/service')).body.engine, { embeddings: 'upstream', chat: 'builtin' });
    });

    await t.test('tokens are passed through, and a retry returns the stored response', async (t) => {
      const headers = { 'idempotency-key': 'tokens' };
      const body = { input: [[1, 2], [3]], model: 'large' };
      const first = await embed(body, headers);
      t.match((await upstream.onlyCall()).body, body);
      const again = await embed(body, headers);
      t.equal(again.headers.get('idempotency-replayed'), 'true');
      t.equal(again.text, first.text);
      t.equal((await upstream.calls()).embeddings, 1);
    });

    await t.test('an unknown model never reaches the upstream, and failures are refunded', async (t) => {
      const before = await used();
      t.match(await embed({ input: 'x', model: 'bge-m3' }), {
        status: 404,
        body: { error: { code: 'notFound', param: 'model', message: /small, large/ } },
      });
      t.equal((await upstream.calls()).calls, 0);
      await upstream.configure({ embeddings: { data: [{ embedding: [1, 2], index: 0 }] } });
      t.match(await embed({ input: 'x', dimensions: 3 }), {
        status: 400,
        body: { error: { code: 'invalidRequest', param: 'dimensions' } },
      });
      t.match(await embed({ input: ['x', 'y'] }), {
        status: 502,
        body: { error: { code: 'upstreamError' } },
      });
      await upstream.configure({ fault: 'status', status: 429 });
      t.match(await embed({ input: 'x' }), { status: 503, body: { error: { code: 'overloaded' } } });
      t.equal(await used(), before);
      t.same((await audit(service.database.db)).differences, []);
    });
  });
});
