// Upstream prices: the operator's cost of each request, exact in the log and per day, and hidden from owners.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import type { Body } from '../support/http.ts';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { onEachDatabase } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventText, openaiEvents, openaiResponse, wireServer } from '../support/upstream/wire.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const prices = { input: 2.5, cachedInput: 0.25, output: 10 };

t.test('upstream prices determine the costs that operators see', async (t) => {
  const vendor = await wireServer(t, ({ body }) => ({
    body: body.stream ? eventText(openaiEvents) : openaiResponse,
  }));
  const broken = await startUpstream({ fault: 'status', status: 500 });
  const free = await startUpstream();
  t.teardown(() => Promise.all([broken.stop(), free.stop()]));
  const file = upstreamsFile({
    currency: 'EUR',
    upstreams: [
      { name: 'vendor', kind: 'openai-responses', url: vendor.url },
      { name: 'broken', kind: 'openai', url: broken.url },
      { name: 'own', kind: 'openai', url: free.url },
    ],
    models: [
      { name: 'paid', targets: [{ upstream: 'vendor', model: 'their-model', prices }] },
      {
        name: 'both',
        targets: [
          { upstream: 'broken', prices: { input: 100, output: 100 } },
          { upstream: 'vendor', model: 'their-model', order: 2, prices },
        ],
      },
      { name: 'failing', targets: [{ upstream: 'broken', prices }] },
      { name: 'free', targets: [{ upstream: 'own' }] },
    ],
  });

  onEachDatabase(t, { ...file.env, ...operatorEnv }, async (t, service) => {
    const { client, database } = service;
    const operator = await signInOperator(service);
    const owner = await client.signUp();
    const { cookie } = owner;
    const chat = async (model: string, stream: boolean, headers: Record<string, string> = {}) =>
      (await client.post('/chat', { message: 'Hi', model, stream }, { cookie, headers })).status;
    const logOf = async (path: string, who: string): Promise<Body[]> =>
      (await client.get(path, { cookie: who })).body.data;
    const seen = (path = '') => client.get(`/operator/accounts/${owner.accountId}${path}`, operator);

    await t.test(
      'the cost of a request is the price of its tokens at the upstream that served it',
      async (t) => {
        for (const model of ['paid', 'both'])
          for (const stream of [false, true]) t.equal(await chat(model, stream), 200, `${model} ${stream}`);
        t.equal(await chat('free', false), 200);
        t.equal(await chat('failing', false), 502);
        const rows: Body[] = (await seen('/requests')).body.data;
        t.equal(rows.length, 6);
        for (const row of rows) {
          const isPaid = row.model === 'paid' || row.model === 'both';
          const {
            cached_tokens: cached,
            cost_micros: cost,
            input_tokens: input,
            output_tokens: output,
          } = row;
          if (!isPaid) t.equal(cost, null, `${row.model} ${row.status}`);
          else {
            t.ok(cached > 0);
            t.match(row, { upstream: 'vendor', upstream_model: 'their-model' });
            t.equal(cost, Math.round((input - cached) * 2.5 + cached * 0.25 + output * 10));
          }
        }
        const total = rows.reduce((sum, { cost_micros: cost }) => sum + (cost ?? 0), 0);
        const account = (await seen()).body;
        t.match(account, { currency: 'EUR', costs: [{ upstream: 'vendor', cost_micros: total }] });
        t.equal(account.costs.length, 1);
        const overview = (await client.get('/operator/overview', operator)).body;
        t.match(overview, { currency: 'EUR', costs: [{ upstream: 'vendor', cost_micros: total }] });
      },
    );

    await t.test(
      'a replayed response costs nothing, and a repeated settlement does not change the cost',
      async (t) => {
        const before = (await seen()).body.costs[0].cost_micros;
        const headers = { 'idempotency-key': crypto.randomUUID() };
        for (let n = 0; n < 3; n += 1) t.equal(await chat('paid', false, headers), 200);
        const once = (await seen()).body.costs[0].cost_micros;
        const [row] = (await seen('/requests')).body.data;
        t.equal(once - before, row.cost_micros);
        const settlements = [
          {
            kind: 'complete',
            account_id: owner.accountId,
            day: row.at.slice(0, 10),
            id: row.id,
            input_tokens: 1,
            output_tokens: 1,
            details: { upstream: 'vendor', cost_micros: 1000 },
          },
        ];
        await database.db.execute(
          sql`select * from ledger_settle(${JSON.stringify(settlements)}::text::jsonb, '{}', '', null, true, 1000)`,
        );
        t.equal((await seen()).body.costs[0].cost_micros, once, 'the charge was already complete');
      },
    );

    await t.test('owners see neither costs nor upstreams', async (t) => {
      const pages = ['/requests', '/requests/export', '/usage', '/usage/history', '/models'];
      for (const path of pages) {
        const { status, text } = await client.get(path, { cookie });
        t.equal(status, 200);
        t.notMatch(text, /cost|micros|vendor|their-model|upstream_model/, path);
      }
      const csv = await client.get('/requests/export?format=csv', { cookie });
      t.notMatch(csv.text, /cost|vendor|their-model/);
      t.ok((await logOf('/requests', cookie)).length > 0);
    });

    await t.test('the ledger audit finds no differences', async (t) => {
      t.same((await audit(database.db)).differences, []);
    });
  });
});
