/** Writes rows for `bench/scale.ts` directly to the service's tables. */
import type postgres from 'postgres';
import { generateApiKey } from '../../src/domain/api-key.ts';

const DAYS = 30;
const KEYS_PER_ACCOUNT = 5;
/** The number of accounts with requests in the ledger, in addition to the operator's. */
const BUSY_ACCOUNTS = 20_000;
const scopes = ['chat', 'models', 'usage'];

/** Adds accounts, each with a valid key. Returns the keys. */
export async function addKeys(sql: postgres.Sql, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => generateApiKey());
  const publicIds = keys.map(({ publicId }) => publicId);
  const digests = keys.map(({ digest }) => digest.toString('hex'));
  await sql`
    with given as (
      select public_id, decode(digest, 'hex') as digest, md5('used' || public_id)::uuid as account_id, md5('used key' || public_id)::uuid as key_id
      from unnest(${publicIds}::text[], ${digests}::text[]) as of (public_id, digest)
    ), accounts as (
      insert into accounts (id, email, email_key, password_hash, plan, billing_period, plan_changed_at, created_at)
      select account_id, public_id || '@used.example.com', public_id || '@used.example.com', '', 'bench', 'monthly', now(), now()
      from given
    ), keys as (
      insert into api_keys (account_id, id, name, scopes, allowed_origins, public_id, created_at)
      select account_id, key_id, 'Bench', ${scopes}::text[], '{}', public_id, now() from given
    )
    insert into key_secrets (public_id, account_id, key_id, digest) select public_id, account_id, key_id, digest from given`;
  return keys.map(({ rawKey }) => rawKey);
}

/**
 * Adds unused keys, five per account, and a ledger of 30 days with matching counters. A tenth of the ledger belongs to the
 * account with this email address.
 */
export async function fillLedger(
  sql: postgres.Sql,
  { email, keys, requests }: { email: string; keys: number; requests: number },
): Promise<void> {
  await sql`
    insert into accounts (id, email, email_key, password_hash, plan, billing_period, plan_changed_at, created_at)
    select md5('account' || n)::uuid, 'owner-' || n || '@example.com', 'owner-' || n || '@example.com', '', 'bench', 'monthly',
           now(), now() - make_interval(secs => n)
    from generate_series(1, ${Math.ceil(keys / KEYS_PER_ACCOUNT)}::int) as n`;
  await sql`
    with made as (
      select n, md5('account' || (n / ${KEYS_PER_ACCOUNT}::int + 1))::uuid as account_id, md5('key' || n)::uuid as id,
             lpad(to_hex(n), 8, '0') as public_id
      from generate_series(0, ${keys - 1}::int) as n
    ), secrets as (
      insert into key_secrets (public_id, account_id, key_id, digest)
      select public_id, account_id, id, sha256(public_id::bytea) from made
    )
    insert into api_keys (account_id, id, name, scopes, allowed_origins, public_id, created_at)
    select account_id, id, 'Key ' || n, ${scopes}::text[], '{}', public_id, now() - make_interval(secs => n) from made`;
  const [own] = await sql<{ account: string; key: string }[]>`
    select account_id as account, api_keys.id as key from api_keys join accounts on accounts.id = account_id where email = ${email}`;
  if (own === undefined) throw new Error(`${email} has no key.`);
  for (let age = DAYS - 1; age >= 0; age -= 1) await fillDay(sql, age, Math.ceil(requests / DAYS), own);
  await sql`
    insert into usage_counters (account_id, day, meter, used)
    select account_id, day, counter.meter, sum(counter.used) from requests
    cross join lateral (values (meter, units), ('tokens', input_tokens + output_tokens)) as counter (meter, used)
    group by account_id, day, counter.meter order by day
    on conflict (account_id, day, meter) do update set used = excluded.used`;
  await sql`
    insert into key_usage (account_id, day, key_id, meter, used, requests)
    select account_id, day, key_id, counter.meter, sum(counter.used), case counter.meter when 'tokens' then null else count(*) end
    from requests
    cross join lateral (values (meter, units), ('tokens', input_tokens + output_tokens)) as counter (meter, used)
    group by account_id, day, key_id, counter.meter order by day
    on conflict (account_id, day, key_id, meter) do update set used = excluded.used, requests = excluded.requests`;
  await sql`vacuum analyze`;
}

/** If the partition is new, inserts the rows before it creates the indexes. */
async function fillDay(
  sql: postgres.Sql,
  age: number,
  count: number,
  own: { account: string; key: string },
): Promise<void> {
  const [{ day, isNew, name }] = (await sql`
    select day::text, 'requests_' || to_char(day, 'YYYYMMDD') as name,
           to_regclass('requests_' || to_char(day, 'YYYYMMDD')) is null as "isNew"
    from (select ledger_day(ledger_now()) - ${age}::int as day) as wanted`) as unknown as [
    { day: string; name: string; isNew: boolean },
  ];
  const partition = sql(name);
  if (isNew) await sql`create table ${partition} (like requests including defaults including constraints)`;
  await sql`
    insert into ${partition} (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, settled_at, status,
                              code, model, input_tokens, output_tokens, latency_ms)
    select account_id, ${day}::date, gen_random_uuid(), key_id,
           case n % 7 when 0 then 'POST /api/v1/messages' else 'POST /api/v1/chat/completions' end, 'chat', 1, 'final',
           md5('process')::uuid, at, at, case n % 50 when 0 then 502 else 200 end, case n % 50 when 0 then 'upstreamError' end,
           'model-' || n % 5, 1000, 200, case n % 500 when 0 then 6000 else 900 end
    from generate_series(1, ${count}::int) as n
    cross join lateral (
      select case n % 10 when 0 then ${own.account}::uuid else md5('account' || (n % ${BUSY_ACCOUNTS}::int + 1))::uuid end as account_id,
             case n % 10 when 0 then ${own.key}::uuid else md5('key' || (n % ${BUSY_ACCOUNTS}::int * ${KEYS_PER_ACCOUNT}::int))::uuid end as key_id,
             ${day}::date::timestamp at time zone 'UTC'
               + n * (least(now(), (${day}::date + 1)::timestamp at time zone 'UTC') - ${day}::date::timestamp at time zone 'UTC')
                 / (${count}::int + 1) as at
    ) as of`;
  if (isNew)
    await sql`alter table requests attach partition ${partition} for values from (${sql.unsafe(`'${day}'`)}) to (${sql.unsafe(`'${day}'::date + 1`)})`;
}
