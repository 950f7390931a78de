/**
 * Keeps today's usage of an email address that an account gave up, until midnight. A new account with the address is
 * charged for it, so it gets no new quota. Contract section 5, argued in docs/decisions/0020-sign-in-and-sign-up.md.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { meters } from '../../schemas/plans.ts';
import { CARRIED_OVER } from '../../schemas/request-log.ts';
import { deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { carriedUsage } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import { settingOnce } from './settings.ts';

type Holder = { accountId: string; emailDigest: Uint8Array };

const counted = [...meters, 'tokens'] as const;

const meterList = sql`array[${sql.join(
  counted.map((meter) => sql`${meter}`),
  sql`, `,
)}]::text[]`;

/** The key is in the database, because `SESSION_SECRET` may change at any time. Call this outside a transaction. */
export async function emailDigests(db: Db): Promise<(emailKey: string) => Uint8Array> {
  const key = await settingOnce(db, 'email_digest_key', () => randomBytes(32).toString('base64url'));
  return (emailKey) => createHmac('sha256', key).update(emailKey).digest();
}

/** Keeps the account's usage of today. The account may remain in use. */
export async function keepUsage(tx: Db, { accountId, emailDigest }: Holder): Promise<void> {
  await tx.execute(sql`
    insert into carried_usage (email_digest, day, meter, former_account, used)
    select ${emailDigest}::bytea, day, meter, account_id, used + reserved from usage_counters
    where account_id = ${accountId}::uuid and day >= ledger_day(ledger_now()) and meter = any(${meterList})
      and used + reserved > 0
    on conflict (email_digest, day, meter, former_account) do update set used = excluded.used`);
}

/**
 * Keeps the usage of an account that this transaction marked as deleted. In-flight charges count as used. Locks on the
 * counters exclude later admissions, including tomorrow's, because midnight may pass.
 */
export async function keepFinalUsage(tx: Db, holder: Holder): Promise<void> {
  const { accountId } = holder;
  const [clock] = await rowsOf<{ today: string }>(tx, sql`select ledger_day(ledger_now())::text as today`);
  const today = sql`${clock?.today}::date`;
  // Waits for an admission that is creating a counter.
  await tx.execute(sql`
    insert into usage_counters (account_id, day, meter, used)
    select ${accountId}::uuid, ${today} + n, meter, 0 from unnest(${meterList}) as meter cross join generate_series(0, 1) as n
    order by 3, 2
    on conflict do nothing`);
  await tx.execute(sql`
    select from usage_counters
    where account_id = ${accountId}::uuid and day in (${today}, ${today} + 1) and meter = any(${meterList})
    order by meter, day
    for update`);
  await keepUsage(tx, holder);
}

/**
 * Charges the kept usage of an email address to a new account: one final charge per meter, and the counters. The charge
 * for chat includes the tokens.
 */
export async function enterKeptUsage(tx: Db, { accountId, emailDigest }: Holder): Promise<void> {
  const ids = meters.map((meter) => sql`(${meter}::text, ${newId()}::uuid)`);
  await tx.execute(sql`
    with clock as materialized (
      select now_at, ledger_day(now_at) as today from ledger_now() as now_at
    ), kept as (
      delete from carried_usage using clock
      where email_digest = ${emailDigest}::bytea and day = clock.today and meter = any(${meterList})
      returning meter, used
    ), summed as (
      select meter, least(sum(used), 2147483647)::int as units from kept group by meter
    ), rows as (
      select meter, coalesce(units, 0) as units, tokens, tokens * 0 as no_tokens
      from (select * from summed where meter <> 'tokens') as of_meters
      full join (select 'chat' as meter, units as tokens from summed where meter = 'tokens') as of_tokens using (meter)
    ), charged as (
      insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at, settled_at, input_tokens, output_tokens)
      select ${accountId}::uuid, today, ids.id, ${CARRIED_OVER}, meter, units, 'final',
             '00000000-0000-0000-0000-000000000000'::uuid, now_at, now_at, tokens, no_tokens
      from rows join (values ${sql.join(ids, sql`, `)}) as ids (meter, id) using (meter) cross join clock
    )
    insert into usage_counters (account_id, day, meter, used)
    select ${accountId}::uuid, today, meter, units from summed cross join clock`);
}

export const deleteKeptUsage = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, carriedUsage.day, sql`ledger_day(ledger_now()) - 1`, signal);
