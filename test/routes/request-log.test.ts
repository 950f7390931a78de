import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { rowsOf } from '../../src/database/client.ts';
import { requestLogStatement } from '../../src/store/request-log.ts';
import { shiftClock } from '../support/clock.ts';
import type { Body } from '../support/http.ts';
import { insertCharges, insertRefusals, readAll } from '../support/request-log.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const minuteMs = 60_000;
const iso = (time: number) => new Date(time).toISOString();

t.test('rows describe charged and refused requests', async (t) =>
  onEachDatabase(t, plansFile(t, { search: 2 }), async (t, { app, client }) => {
    const owner = await client.signUp();
    const { cookie } = owner;
    const key = await client.createKey(owner);
    const narrow = await client.createKey(owner, { scopes: ['models'] });
    const log = async (query = ''): Promise<Body> => (await client.get(`/requests${query}`, { cookie })).body;
    const total = (rows: Body[]) => rows.reduce((sum, { count }) => sum + count, 0);
    /** Rejected requests are recorded once a second. Each minute has new rows. */
    const refusalsOnce = async (requests: number): Promise<Body[]> => {
      const deadline = Date.now() + 20_000;
      for (;;) {
        const found = (await log('?limit=200')).data.filter(({ kind }: Body) => kind === 'refusals');
        if (total(found) >= requests || Date.now() > deadline) return found;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const search = (who: object) => client.post('/search', { query: 'key' }, who);

    await t.test('an account without requests has an empty log', async (t) => {
      t.same(await log(), { data: [], next_cursor: null });
    });

    await t.test('a charged request has all its details', async (t) => {
      const chat = await client.post('/chat', { message: 'Hello' }, { key: key.key });
      const { data } = await log();
      t.match(data, [
        {
          id: chat.body.id,
          kind: 'request',
          key_id: key.id,
          endpoint: 'POST /api/v1/chat',
          meter: 'chat',
          units: 1,
          state: 'final',
          status: 200,
          code: null,
          model: 'parley-builtin',
          input_tokens: chat.body.usage.input_tokens,
          output_tokens: chat.body.usage.output_tokens,
          latency_ms: Number,
          first_output_ms: null,
          cached_tokens: null,
          reasoning_tokens: null,
          attempts: null,
          count: 1,
        },
      ]);
      t.ok(Math.abs(Date.parse(data[0].at) - Date.now()) < 10_000);
    });

    await t.test('the x-request-id of a response finds the request, but only for its account', async (t) => {
      const { headers } = await client.post('/chat', { message: 'Hello again' }, { cookie });
      const told = headers.get('x-request-id');
      t.match(await log(`?id=${told}`), {
        data: [{ id: told, key_id: null, state: 'final' }],
        next_cursor: null,
      });
      t.same((await log(`?id=${uuidv7()}`)).data, []);
      const other = await client.signUp();
      t.same((await client.get(`/requests?id=${told}`, { cookie: other.cookie })).body.data, []);
    });

    await t.test('rejected requests of a known account are counted by minute, key, and code', async (t) => {
      for (let n = 0; n < 2; n += 1) t.equal((await search({ cookie })).status, 200);
      const before = Date.now();
      for (let n = 0; n < 3; n += 1) t.equal((await search({ key: key.key })).status, 429);
      t.equal((await search({ cookie })).status, 429);
      t.equal((await search({ key: narrow.key })).status, 403);
      t.equal((await search({ cookie, headers: { 'sec-fetch-site': 'cross-site' } })).status, 403);
      const refused = await refusalsOnce(6);
      const of = (code: string, keyId: string | null) =>
        refused.filter((row: Body) => row.code === code && row.key_id === keyId);
      t.equal(total(of('quotaExceeded', key.id)), 3);
      t.equal(total(of('quotaExceeded', null)), 1);
      t.equal(total(of('insufficientScope', narrow.id)), 1);
      t.equal(total(of('crossSiteRequest', null)), 1);
      t.equal(total(refused), 6);
      t.match(of('quotaExceeded', key.id)[0], {
        endpoint: null,
        meter: null,
        units: 0,
        state: 'refused',
        status: 429,
        model: null,
        input_tokens: null,
        latency_ms: null,
      });
      const at = Date.parse(refused[0].at);
      t.ok(at % minuteMs === 0 && at >= before - minuteMs && at <= Date.now());
    });

    await t.test('400, 401, 404, and 422 responses are not counted', async (t) => {
      const once = { key: key.key, headers: { 'idempotency-key': uuidv7() } };
      await client.post('/chat', { message: 'Hello' }, once);
      t.equal((await client.post('/chat', { message: 'Good-bye' }, once)).status, 422);
      await client.get('/conversations/nonsense', { key: key.key });
      await client.get(`/conversations/${uuidv7()}`, { key: key.key });
      await client.post('/search', {}, { key: key.key });
      await client.post('/search', { query: 'x' }, { key: `${key.key.slice(0, -1)}_` });
      await client.get('/keys', {});
      // Counts are written together once a second, so any counts of the others would be written with this one.
      t.equal((await search({ key: narrow.key })).status, 403);
      t.equal(total(await refusalsOnce(7)), 7);
    });

    await t.test('filters by key, endpoint, status, and time', async (t) => {
      const all = (await log('?limit=200')).data;
      const kept = async (query: string) => (await log(`?limit=200&${query}`)).data.map(({ id }: Body) => id);
      const expected = (keep: (row: Body) => boolean) => all.filter(keep).map(({ id }: Body) => id);
      const cases: [string, (row: Body) => boolean, number][] = [
        ['key_id=web', (row) => row.key_id === null, 4],
        [`key_id=${key.id}`, (row) => row.key_id === key.id, 2],
        [`key_id=${key.id.toUpperCase()}`, (row) => row.key_id === key.id, 2],
        ['endpoint=POST%20%2Fapi%2Fv1%2Fsearch', (row) => row.endpoint === 'POST /api/v1/search', 2],
        ['status=429', (row) => row.status === 429, 2],
        ['status=4xx', (row) => row.status >= 400 && row.status < 500, 4],
        ['status=2xx', (row) => row.status === 200, 3],
        ['status=5xx', () => false, 0],
        ['status=4xx&key_id=web', (row) => row.status >= 400 && row.key_id === null, 2],
      ];
      for (const [query, keep, atLeast] of cases) {
        t.same(await kept(query), expected(keep), query);
        t.ok(expected(keep).length >= atLeast, query);
      }
      const [middle] = all.filter(({ kind }: Body) => kind === 'request').slice(1);
      t.same(
        await kept(`from=${middle.at}`),
        expected((row) => row.at >= middle.at),
        'from is included',
      );
      t.same(
        await kept(`to=${middle.at}`),
        expected((row) => row.at < middle.at),
        'to is excluded',
      );
      const offset = `${iso(Date.parse(middle.at) + 90 * minuteMs).slice(0, -1)}%2B01:30`;
      t.same(
        await kept(`from=${offset}`),
        expected((row) => row.at >= middle.at),
        'from with a UTC offset',
      );
    });

    await t.test('another account sees none of the rows with any filter', async (t) => {
      const stranger = await client.signUp();
      for (const query of ['', `?key_id=${key.id}`, '?status=200', '?from=2020-01-01T00:00:00Z'])
        t.same((await client.get(`/requests${query}`, stranger)).body.data, []);
      const [row] = (await log('?limit=1')).data;
      const { next_cursor: cursor } = await log('?limit=1');
      t.ok(row);
      t.same((await client.get(`/requests?cursor=${cursor}`, stranger)).body.data, []);
    });

    await t.test(
      'a request that failed after its charge has one refunded row and no refusal row',
      async (t) => {
        const mine = await client.signUp();
        const engine = app.engines.search;
        const { search } = engine;
        engine.search = () => Promise.reject(new Error('broken on purpose'));
        const answer = await client.post('/search', { query: 'key' }, { cookie: mine.cookie });
        engine.search = search;
        t.equal(answer.status, 500);
        // Refusals are written together once a second, so one of the failed request would be written with this one.
        const crossSite = { cookie: mine.cookie, headers: { 'sec-fetch-site': 'cross-site' } };
        t.equal((await client.post('/search', { query: 'key' }, crossSite)).status, 403);
        const rows = async (): Promise<Body[]> => (await client.get('/requests', mine)).body.data;
        await eventually('the refusal is written', async () => (await rows()).length > 1);
        t.equal((await rows()).length, 2);
        t.match(
          (await rows()).find(({ kind }) => kind === 'request'),
          { state: 'refunded', status: 500, code: 'internalError' },
        );
        t.match(
          (await rows()).find(({ kind }) => kind === 'refusals'),
          { code: 'crossSiteRequest', count: 1 },
        );
      },
    );

    await t.test('400 invalidRequest: invalid filter values', async (t) => {
      const wrong = [
        ...['limit=0', 'limit=201', 'limit=x', 'key_id=me', `key_id=${key.id}0`, 'status=42', 'status=6xx'],
        ...['status=4XX', 'from=yesterday', 'to=2026-11-20', 'from=2016-12-31T23:59:60Z', 'endpoint='],
        ...['cursor=nonsense', `cursor=${Buffer.from('a|b|c').toString('base64url')}`, 'state=final'],
        `cursor=${Buffer.from(`0000-01-01|0000-01-01T00:00:00.000Z|${key.id}`).toString('base64url')}`,
      ];
      for (const query of wrong)
        t.match(await client.get(`/requests?${query}`, { cookie }), { status: 400 }, query);
      for (const query of [
        'from=0000-01-01T00:00:00Z',
        'to=9999-12-31T23:59:59-12:00',
        'to=0001-01-01T00:00:00Z',
      ])
        t.equal((await client.get(`/requests?${query}`, { cookie })).status, 200, query);
    });
  }),
);

t.test('pages list charges and refusals in order', async (t) =>
  onEachDatabase(t, {}, async (t, { client, database }) => {
    const { db } = database;
    const owner = await client.signUp();
    const { accountId, cookie } = owner;
    // Rows on both sides of midnight, several of them in the same millisecond.
    await shiftClock(db, '-1 day');
    await insertCharges(db, accountId, 40);
    await insertRefusals(db, accountId, 5);
    await shiftClock(db, '0 day');
    await insertCharges(db, accountId, 200);
    await insertRefusals(db, accountId, 10);
    const whole = await readAll(client, cookie, 'limit=200');
    const ids = (rows: Body[]) => rows.map(({ id }) => id);

    await t.test('charges and refusals are listed together, newest first', async (t) => {
      t.equal(whole.length, 240 + 11 + 21);
      t.equal(new Set(ids(whole)).size, whole.length);
      t.same(
        ids(whole.toSorted((a, b) => (a.at < b.at || (a.at === b.at && a.id < b.id) ? 1 : -1))),
        ids(whole),
      );
    });

    await t.test('a page reads only the partitions of the days that it can show', async (t) => {
      const partitions = async (...page: Parameters<typeof requestLogStatement>) => {
        const plan = await rowsOf(db, sql`explain ${requestLogStatement(...page)}`);
        return new Set(JSON.stringify(plan).match(/requests_\d{8}(?= )/g));
      };
      const [first, last] = [whole[0], whole.at(-1)];
      const name = (row: Body) => `requests_${row.at.slice(0, 10).replaceAll('-', '')}`;
      t.ok((await partitions(accountId, 10, {})).size >= 9);
      const [from, to] = [new Date(last.at), new Date(Date.parse(last.at) + 1)];
      t.same([...(await partitions(accountId, 10, { from, to }))], [name(last)]);
      const older = await partitions(
        accountId,
        10,
        {},
        { day: last.at.slice(0, 10), at: last.at, id: last.id },
      );
      t.ok(older.has(name(last)) && !older.has(name(first)));
    });

    await t.test('pages of any size add up to the whole log', async (t) => {
      for (const limit of [3, 50]) t.same(ids(await readAll(client, cookie, `limit=${limit}`)), ids(whole));
      t.same(
        ids(await readAll(client, cookie, 'limit=9&status=429')),
        ids(whole.filter(({ status }) => status === 429)),
      );
    });

    await t.test('new rows and growing counts do not shift later pages', async (t) => {
      const seen = await readAll(client, cookie, 'limit=20', async () => {
        await insertCharges(db, accountId, 3);
        await db.execute(sql`update refusals set count = count + 1 where account_id = ${accountId}::uuid`);
      });
      t.equal(new Set(ids(seen)).size, seen.length, 'no duplicate rows');
      const known = new Set(ids(whole));
      t.same(ids(seen.filter(({ id }) => known.has(id))), ids(whole), 'no missing rows');
    });
  }),
);
