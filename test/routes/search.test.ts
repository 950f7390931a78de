import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import t from 'tap';
import { onEachDatabase } from '../support/service.ts';

onEachDatabase(t, {}, async (t, { app, client }) => {
  const { key } = await client.createKey(await client.signUp());
  const search = (body: unknown) => client.post('/search', body, { key });
  const used = async () => (await client.get('/usage', { key })).body.used.search;

  await t.test(
    'POST /search 200: returns sections of the guides, best match first, and charges one unit',
    async (t) => {
      const before = await used();
      const { body, status } = await search({ query: 'How do I create a key?' });
      t.equal(status, 200);
      t.equal(body.query, 'How do I create a key?');
      t.equal(body.results.length, 10, 'ten by default');
      t.match(body.results[0], {
        title: 'API keys: Create an API key',
        url: /\/docs\/guides\/keys#create-an-api-key$/,
      });
      t.equal(await used(), before + 1);
      t.equal((await search({ query: 'key', limit: 3 })).body.results.length, 3);
    },
  );

  await t.test('POST /search 200: characters with a special meaning in SQL are literal', async (t) => {
    for (const query of [
      '%',
      '_',
      '%key%',
      'a & b | !c',
      ':*',
      "'); drop table passages; --",
      '"',
      '\\',
      ' ',
      '<->'.repeat(300),
    ]) {
      const { body, status } = await search({ query });
      t.equal(status, 200, query);
      t.equal(body.query, query);
    }
    t.same((await search({ query: '%' })).body.results, []);
  });

  await t.test('POST /search 400: an invalid query or limit is not charged', async (t) => {
    const before = await used();
    for (const body of [
      {},
      { query: '' },
      { query: 1 },
      { query: 'x'.repeat(1001) },
      { query: 'key', limit: 0 },
      { query: 'key', limit: 21 },
      { query: 'key', limit: '3' },
      { query: 'key', page: 2 },
      [],
    ]) {
      t.match(
        await search(body),
        { status: 400, body: { error: { code: 'invalidRequest' } } },
        JSON.stringify(body).slice(0, 40),
      );
    }
    t.equal(await used(), before);
  });

  await t.test(
    'POST /search: a client that disconnects aborts its search within a second, and a waiting client does not',
    async (t) => {
      const engine = app.engines.search;
      const { search: original } = engine;
      t.teardown(() => {
        engine.search = original;
      });
      let signal = new AbortController().signal;
      let release = () => {};
      const called = () =>
        new Promise<void>((resolve) => {
          engine.search = (_query, _limit, given) => {
            signal = given;
            resolve();
            return new Promise((answer) => {
              release = () => answer([]);
            });
          };
        });

      let reached = called();
      const waiting = search({ query: 'patience' });
      await reached;
      // Enough for an abort, which would be a mistake, to arrive.
      await new Promise((resolve) => setTimeout(resolve, 100));
      t.equal(signal.aborted, false, 'while the client waits');
      release();
      t.equal((await waiting).status, 200);
      t.equal(signal.aborted, false, 'after the response');

      reached = called();
      const leaving = httpRequest(`${client.origin}/api/v1/search`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      leaving.on('error', () => {});
      leaving.end(JSON.stringify({ query: 'haste' }));
      await reached;
      leaving.destroy();
      await Promise.race([once(signal, 'abort'), new Promise((resolve) => setTimeout(resolve, 1000))]);
      t.equal(signal.aborted, true);
      release();
    },
  );
});
