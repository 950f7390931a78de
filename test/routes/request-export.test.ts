import { sql } from 'drizzle-orm';
import t from 'tap';
import { insertCharges, insertRefusals, readAll } from '../support/request-log.ts';
import { onEachDatabase, plansFile } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const columnNames =
  'time_utc,kind,count,endpoint,key,key_id,state,status,code,meter,units,model,input_tokens,output_tokens,latency_ms,first_output_ms,cached_tokens,reasoning_tokens,attempts,id';

t.test('an export contains every matching row, as JSON and as CSV', async (t) =>
  onEachDatabase(t, plansFile(t), async (t, { app, client }) => {
    const owner = await client.signUp();
    const { accountId, cookie } = owner;
    const { id: keyId, key } = await client.createKey(owner, { name: '=HYPERLINK("x"), "y"' });
    await insertCharges(app.db, accountId, 3000);
    await insertRefusals(app.db, accountId, 30);
    await client.post('/search', { query: 'keys' }, { key });
    await app.db.execute(
      sql`update requests set model = 'm' where account_id = ${accountId}::uuid and key_id is not null`,
    );
    const stranger = await client.signUp();
    await insertCharges(app.db, stranger.accountId, 3);

    for (const filter of ['', '&endpoint=POST%20/api/v1/search', '&status=429', '&key_id=web', '&model=m']) {
      const expected = await readAll(client, cookie, `limit=200${filter}`);
      const json = await client.get(`/requests/export?format=json${filter}`, { cookie });
      t.same(json.body, { data: expected }, `JSON ${filter}`);
      const csv = await client.get(`/requests/export?format=csv${filter}`, { cookie });
      const lines = csv.text.split('\r\n');
      t.equal(lines.shift(), columnNames);
      t.equal(lines.pop(), '', 'the last line ends with a line break');
      t.same(
        lines.map((line) => line.split(',').at(-1)),
        expected.map(({ id }) => id),
        `CSV ${filter}`,
      );
    }
    const csv = await client.get(
      `/requests/export?format=csv&key_id=${keyId}&from=2026-01-01T00:00:00Z&to=2999-01-01T00:00:00Z`,
      {
        cookie,
      },
    );
    t.match(csv.headers.get('content-type'), 'text/csv');
    t.equal(
      csv.headers.get('content-disposition'),
      'attachment; filename="parley-requests-from-2026-01-01-to-2998-12-31.csv"',
    );
    t.match(csv.text, `,"'=HYPERLINK(""x""), ""y""",${keyId},`, 'spreadsheets do not read a formula');
    const none = await client.get('/requests/export?format=json&model=nobody', { cookie });
    t.same(none.body, { data: [] });
    t.match(await client.get('/requests/export?format=xml', { cookie }), {
      status: 400,
      body: { error: { param: 'format' } },
    });
    t.equal((await client.get('/requests/export?format=json', { key })).status, 403, 'keys cannot export');
  }),
);

t.test('a client that disconnects ends its export and can start another', async (t) =>
  onEachDatabase(t, plansFile(t), async (t, { app, client, port }) => {
    const { accountId, cookie } = await client.signUp();
    await insertCharges(app.db, accountId, 60_000);
    const left = new AbortController();
    const url = `http://127.0.0.1:${port}/api/v1/requests/export?format=json`;
    const first = await fetch(url, { headers: { cookie }, signal: left.signal });
    t.equal(first.status, 200);
    const second = await client.get('/requests/export?format=csv', { cookie });
    t.match(second, { status: 429, body: { error: { code: 'tooManyCalls' } } }, 'one at a time');
    left.abort();
    await eventually('the next export is accepted', async () => {
      const next = await fetch(url, { headers: { cookie } });
      await next.body?.cancel();
      return next.status === 200;
    });
  }),
);
