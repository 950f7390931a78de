/**
 * The routes that `bench/quota.ts` compares, with the same schema, response, and production options. Each request runs
 * no statement, an upsert, an admission, or an admission and its finalization. `X-Account` selects the account.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyRequest } from 'fastify';
import { components } from '../../schemas/index.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase, STATEMENT_TIMEOUT_MS } from '../../src/database/client.ts';
import { migrate } from '../../src/database/migrate.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Admission } from '../../src/ledger/types.ts';
import errors from '../../src/plugins/errors.ts';
import { KnownPaths } from '../../src/plugins/methods.ts';
import settings from '../../src/plugins/services.ts';
import { serverOptions } from '../../src/server-options.ts';

const ACCOUNTS = 1000;
const CEILING = 1_000_000_000;

const accountId = (n: number) =>
  createHash('sha256')
    .update(`account ${n}`)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-7$3-8$4-$5');
const accountIds = Array.from({ length: ACCOUNTS }, (_, n) => accountId(n));

const config = loadConfig();
const database = await openDatabase(
  config.databaseUrl === undefined
    ? { dataDir: config.dataDir }
    : { url: config.databaseUrl, timeoutMs: STATEMENT_TIMEOUT_MS },
);
await migrate(database, config.databaseUrl);
await database.run(
  `insert into accounts (id, email, email_key, password_hash, plan, billing_period, created_at, plan_changed_at)
   select id, id::text, id::text, '', $2, 'monthly', now(), now() from unnest(string_to_array($1, ',')::uuid[]) as id
   on conflict do nothing`,
  [accountIds.join(','), config.plans.standard.id],
);
await database.run(
  'create table if not exists bench_counters (account_id uuid, day date, meter text, used bigint not null, primary key (account_id, day, meter)) with (fillfactor = 50)',
  [],
);
const app = fastify(serverOptions(config));
const ledger = new Ledger(database, config.plans, app.log);
await ledger.start();

app.register(settings, {
  config,
  database,
  sessionSecrets: () => [''],
  engines: undefined as never,
});
app.register(errors, { paths: new KnownPaths() });
for (const schema of components) app.addSchema(schema);

const accountOf = (request: FastifyRequest) =>
  accountIds[Number(request.headers['x-account'] ?? 0)] as string;
const admit = (request: FastifyRequest): Promise<Admission> =>
  ledger.admit({
    accountId: accountOf(request),
    keyId: null,
    endpoint: 'POST /api/v1/chat',
    meter: 'chat',
    units: 1,
  });
const outcome = { model: 'bench', inputTokens: 12, outputTokens: 40 };

const ways: Record<string, (request: FastifyRequest) => Promise<unknown>> = {
  bare: async () => {},
  upsert: (request) =>
    database.run(
      `insert into bench_counters as c values ($1::uuid, current_date, 'chat', 1)
       on conflict (account_id, day, meter) do update set used = c.used + 1 where c.used + 1 <= $2 returning used`,
      [accountOf(request), CEILING],
    ),
  admission: admit,
  finalization: async (request) => ledger.finalize(await admit(request), outcome),
};

for (const [name, work] of Object.entries(ways)) {
  app.post(
    `/${name}`,
    { schema: { body: { $ref: 'ChatRequest#' }, response: { 200: { $ref: 'ChatReply#' } } } },
    async (request) => {
      await work(request);
      return {
        id: request.id,
        conversation_id: null,
        model: 'bench',
        reply: 'Create a key on the page of keys, and send it as a Bearer credential with each request.',
        finish_reason: 'stop',
        usage: { input_tokens: 12, output_tokens: 40 },
        created_at: new Date().toISOString(),
      };
    },
  );
}

/** Runs between measurements so that they do not affect each other. */
app.post('/reset', async () => {
  for (const table of ['requests', 'usage_counters', 'key_usage', 'bench_counters'])
    await database.run(`truncate ${table}`, []);
  return {};
});

await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.((app.server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit());
