// Operator endpoints: access, changes, and the operator log.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { Maintenance } from '../../src/jobs/maintenance.ts';
import type { Answer, Body, Owner } from '../support/http.ts';
import { operatorEnv, signInOperator, signInWith } from '../support/operator.ts';
import { onEachDatabase, startTestService, type TestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const readLog = async ({ client }: TestService, { cookie }: Owner): Promise<Body[]> =>
  (await client.get('/operator/log?limit=200', { cookie })).body.data;

/** Every operation with the Operator tag, with unknown IDs. */
function operationsOf({ app }: TestService): [string, string][] {
  const { paths = {} } = app.swagger() as { paths?: Record<string, Record<string, { tags?: string[] }>> };
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { tags }]) => tags?.includes('Operator'))
      .map(([method]): [string, string] => [
        method.toUpperCase(),
        path
          .replace('/api/v1', '')
          .replace('{id}', '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f')
          .replace('{prefix}', 'parley_00000000'),
      ]),
  );
}

onEachDatabase(t, operatorEnv, async (t, service) => {
  const { app, client, database } = service;
  const context = { db: database.db, config: app.config };
  const operator = await signInOperator(service);
  const { cookie, email: operatorEmail } = operator;

  await t.test(
    "the endpoints reject other accounts, operators' keys, and requests without a session",
    async (t) => {
      const other = await client.signUp();
      const { key } = await client.createKey(operator);
      const operations = operationsOf(service);
      t.ok(operations.length >= 11, `${operations.length} operations`);
      for (const [method, path] of operations) {
        const refused = async (how: object, status: number, code: string) => {
          const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
          t.match(await client.request(method, path, { ...body, ...how }), {
            status,
            body: { error: { code } },
          });
        };
        await refused({ cookie: other.cookie }, 403, 'operatorRequired');
        await refused({ key }, 403, 'bearerNotAccepted');
        await refused({}, 401, 'sessionRequired');
      }
      t.match((await client.get('/account', { cookie })).body, { email: operatorEmail, is_operator: true });
      t.notOk('is_operator' in (await client.get('/account', { cookie: other.cookie })).body);
    },
  );

  await t.test('no other account can use an email address listed in OPERATORS', async (t) => {
    const taken = { status: 409, body: { error: { code: 'emailTaken', param: 'email' } } };
    const password = 'correct horse battery';
    t.match(await client.post('/auth/signup', { email: operatorEmail.toUpperCase(), password }), taken);
    const other = await client.signUp();
    const asked = { email: operatorEmail, current_password: other.password };
    t.match(await client.patch('/account', asked, { cookie: other.cookie }), taken);
    const own = { email: operatorEmail.replace('o', 'O'), current_password: operator.password };
    t.match(
      await client.patch('/account', own, { cookie }),
      { status: 200 },
      'the owner can change its case',
    );
    t.match(await client.patch('/account', { ...own, email: operatorEmail }, { cookie }), { status: 200 });
  });

  await t.test(
    'an operator can create, change, suspend, and delete an account, and the log records each change',
    async (t) => {
      const before = (await readLog(service, operator)).length;
      const email = `made-${crypto.randomUUID()}@example.com`;
      const asked = { email, plan: 'plus', billing_period: 'yearly' };
      const made = await client.post('/operator/accounts', asked, { cookie });
      t.match(made, { status: 201, body: { ...asked, suspended_at: null } });
      t.match(await client.post('/operator/accounts', { email }, { cookie }), {
        status: 409,
        body: { error: { code: 'emailTaken' } },
      });
      const { id, password } = made.body;
      const path = `/operator/accounts/${id}`;
      const owner = await signInWith(client, email, password);
      const { key, key_prefix: prefix } = await client.createKey(owner);
      t.match((await client.get(path, { cookie })).body, { active_keys: 1, open_sessions: 1 });

      t.match(await client.patch(path, { plan: 'nope' }, { cookie }), {
        status: 400,
        body: { error: { param: 'plan' } },
      });
      t.match(await client.patch(path, {}, { cookie }), { status: 400 });
      t.match(await client.patch(path, { plan: 'pro' }, { cookie }), {
        status: 200,
        body: { plan: 'pro', billing_period: 'yearly' },
      });

      t.match(await client.get('/usage', { key }), { status: 200 }, 'the key is cached');
      t.match(await client.patch(path, { suspended: true }, { cookie }), { status: 200 });
      t.match(await client.get('/usage', { key }), { status: 401 }, 'rejected immediately');
      t.match(await client.get('/account', { cookie: owner.cookie }), { status: 401 });
      t.match((await client.get(`/operator/keys?prefix=${prefix}`, { cookie })).body.data, [
        { account_id: id, email, state: 'account suspended' },
      ]);
      t.match(await client.patch(path, { suspended: false }, { cookie }), { body: { suspended_at: null } });
      t.match(await client.get('/usage', { key }), { status: 200 });

      t.match(await client.delete(`/operator/keys/${prefix}`, { cookie }), { status: 204 });
      t.match(await client.get('/usage', { key }), {
        status: 401,
        body: { error: { code: 'apiKeyRevoked' } },
      });
      t.match(
        await client.delete(`/operator/keys/${prefix}`, { cookie }),
        { status: 404 },
        'already revoked',
      );

      const reset = await client.post(`${path}/reset-password`, undefined, { cookie });
      t.match(await client.post('/auth/login', { email, password }), { status: 401 });
      await signInWith(client, email, reset.body.password);
      t.match(await client.delete(path, { cookie }), { status: 204 });
      for (const answer of [await client.get(path, { cookie }), await client.delete(path, { cookie })])
        t.match(answer, { status: 404, body: { error: { code: 'notFound' } } });

      const log = await readLog(service, operator);
      const entries = log.slice(0, log.length - before).reverse();
      t.same(
        entries.map(({ action, detail }) => [action, detail]),
        [
          ['accountCreated', 'plus, yearly'],
          ['planChanged', 'pro, yearly'],
          ['accountSuspended', null],
          ['accountResumed', null],
          ['keyRevoked', `${prefix}, Test key`],
          ['passwordReset', null],
          ['accountDeleted', null],
        ],
        'rejected changes are not in the log',
      );
      for (const entry of entries)
        t.match(entry, {
          operator_id: operator.accountId,
          operator_email: operatorEmail,
          account_id: id,
          account_email: email,
          address: '127.0.0.1',
        });
      t.notMatch(JSON.stringify(log), password);
      t.notMatch(JSON.stringify(log), reset.body.password);
    },
  );

  await t.test('the log also records commands, without an operator', async (t) => {
    const { email } = await client.signUp();
    await runOperatorCommand(context, 'accounts suspend', [email]);
    const [entry] = await readLog(service, operator);
    const nobody = { operator_id: null, operator_email: null, address: null, user_agent: null };
    t.match(entry, { action: 'accountSuspended', account_email: email, ...nobody });
    const lines = await runOperatorCommand(context, 'operator-log', ['--limit', '1']);
    t.match(lines.join('\n'), new RegExp(`accountSuspended +${email} +.*command line`));
  });

  await t.test('an operator cannot suspend or delete their own account', async (t) => {
    const path = `/operator/accounts/${operator.accountId}`;
    for (const answer of [
      await client.patch(path, { suspended: true }, { cookie }),
      await client.delete(path, { cookie }),
    ])
      t.match(answer, { status: 400, body: { error: { code: 'invalidRequest' } } });
    t.match(await client.get('/account', { cookie }), { status: 200 });
  });

  await t.test('a change is rolled back if its log entry cannot be written', async (t) => {
    const { accountId, cookie: owner } = await client.signUp();
    await app.db.execute(sql`alter table operator_log add constraint no_more check (false) not valid`);
    try {
      const path = `/operator/accounts/${accountId}`;
      t.match(await client.patch(path, { suspended: true }, { cookie }), { status: 500 });
      t.match(await client.delete(path, { cookie }), { status: 500 });
    } finally {
      await app.db.execute(sql`alter table operator_log drop constraint no_more`);
    }
    t.match(await client.get('/account', { cookie: owner }), { status: 200 });
  });

  await t.test('lists paginate over every row once, and the export contains the whole log', async (t) => {
    const tag = crypto.randomUUID();
    for (let n = 0; n < 5; n += 1) {
      const { body } = await client.post(
        '/operator/accounts',
        { email: `${tag}-${n}@x.example` },
        { cookie },
      );
      if (n === 3) await client.patch(`/operator/accounts/${body.id}`, { suspended: true }, { cookie });
    }
    const paged = async (path: string) => {
      const rows: Body[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const answer: Answer = await client.get(`${path}limit=2${cursor && `&cursor=${cursor}`}`, { cookie });
        rows.push(...answer.body.data);
        cursor = answer.body.next_cursor;
      }
      return rows;
    };
    const found = await paged(`/operator/accounts?search=${tag.toUpperCase()}&`);
    t.same(
      found.map(({ email }) => email),
      [4, 3, 2, 1, 0].map((n) => `${tag}-${n}@x.example`),
    );
    t.same(
      (await paged(`/operator/accounts?search=${tag}&suspended=true&`)).map(({ email }) => email),
      [`${tag}-3@x.example`],
    );
    t.same(await paged(`/operator/accounts?search=${tag}&plan=plus&`), []);
    t.same(await paged(`/operator/accounts?search=%25${tag}&`), [], 'wildcards are matched literally');
    const log = await paged('/operator/log?');
    const file = await client.get('/operator/log/export', { cookie });
    t.match(
      file.headers.get('content-disposition'),
      /^attachment; filename="parley-operator-log-.*\.jsonl"$/,
    );
    t.same(
      file.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      log,
    );
  });

  await t.test(
    'the overview shows load, rejected requests by cause and account, and slow requests',
    async (t) => {
      const owner = await client.signUp();
      const { key } = await client.createKey(owner);
      t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 200);
      await app.db.execute(sql`
      update usage_counters set used = 50 where account_id = ${owner.accountId}::uuid and meter = 'chat'`);
      await app.db.execute(sql`
      update requests set latency_ms = 7000 where account_id = ${owner.accountId}::uuid`);
      t.equal((await client.post('/chat', { message: 'Hello' }, { key })).status, 429);
      const { accountId: id, email } = owner;
      let overview: Body = {};
      await eventually('the rejected request is counted', async () => {
        overview = (await client.get('/operator/overview', { cookie })).body;
        const isCounted = overview.refusals.some((row: Body) => row.code === 'quotaExceeded');
        return isCounted && overview.refused_accounts.some((row: Body) => row.id === id);
      });
      t.match(
        overview.refusals.find((row: Body) => row.code === 'quotaExceeded'),
        { status: 429, accounts: 1 },
      );
      t.match(
        overview.refused_accounts.find((row: Body) => row.id === id),
        {
          email,
          code: 'quotaExceeded',
          count: 1,
        },
      );
      t.match(overview.busiest_accounts[0], { id, email, used: 50 });
      t.match(overview.slow_requests, [{ account_id: id, email, latency_ms: 7000, status: 200 }]);
      t.match(
        overview.meters.find((row: Body) => row.meter === 'chat'),
        { accounts: 1, used: 50 },
      );
      t.equal(overview.replicas, 1);
      const { data } = (await client.get(`/operator/accounts/${id}/requests?status=429`, { cookie })).body;
      t.match(data, [{ code: 'quotaExceeded', count: 1, upstream: null }]);
      t.match((await client.get(`/operator/accounts/${id}`, { cookie })).body, {
        usage: { plan: 'free', used: { chat: 50 } },
      });
    },
  );

  await t.test('the overview shows the results of background jobs', async (t) => {
    const maintenance = new Maintenance(database, app.config, app.log);
    t.same((await client.get('/operator/overview', { cookie })).body.jobs, []);
    await app.db.execute(sql`alter table refusals rename to hidden`);
    await maintenance.run();
    await app.db.execute(sql`alter table hidden rename to refusals`);
    const { jobs } = (await client.get('/operator/overview', { cookie })).body;
    t.match(
      jobs.find((job: Body) => job.name === 'delete old refusals'),
      { error: /refusals/ },
    );
    t.match(
      jobs.find((job: Body) => job.name === 'delete ended sessions'),
      { error: null },
    );
    await maintenance.stop();
  });
});

t.test('the overview shows the state of each upstream', async (t) => {
  const upstreams = await Promise.all([startUpstream({ fault: 'status', status: 500 }), startUpstream()]);
  t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.stop())));
  const file = several(upstreams);
  const [first, second] = file.models[0]?.targets ?? [];
  const targets = [first, { ...second, order: 2 }];
  const { env } = upstreamsFile({ ...file, models: [{ ...file.models[0], targets }] });
  const service = await startTestService(t, 'postgres', { ...env, ...operatorEnv });
  const { cookie } = await signInOperator(service);
  const { client } = service;
  const other = await client.signUp();
  for (const who of [cookie, other.cookie, cookie, other.cookie, cookie, other.cookie])
    t.equal((await client.post('/chat', { message: 'Hi' }, { cookie: who })).status, 200);
  const { upstreams: told } = (await client.get('/operator/overview', { cookie })).body;
  t.match(told, [
    { attempts: 5, failures: 5, open: 0, targets: [{ state: 'coolingDown' }] },
    { attempts: 6, failures: 0, targets: [{ state: 'working', ready_in_ms: 0 }] },
  ]);
  t.ok(told[0].targets[0].ready_in_ms > 0);
  const { accountId } = other;
  const { data } = (await client.get(`/operator/accounts/${accountId}/requests`, { cookie })).body;
  t.equal(data[0].upstream, told[1].name);
  const own = (await client.get('/requests', { cookie: other.cookie })).body.data;
  t.notOk('upstream' in own[0], 'owners do not see the upstream');
});
