/**
 * The ledger's statements, contract section 5. Each takes a batch, and each transition of a charge is conditional
 * on the state it leaves: what another process settled meanwhile is not settled again.
 */
import { sql } from 'drizzle-orm';
import type { Meter } from '../../schemas/plans.ts';
import { type Db, rowsOf } from './client.ts';

/** A charge to be admitted. `id` is made by the caller, so that a repeated statement can be recognised. */
export type ChargeRow = {
  id: string;
  account_id: string;
  key_id: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
};

/** What the ledger decided on a charge. */
export type Decision = {
  id: string;
  admitted: boolean;
  /** The UTC day it belongs to, as `YYYY-MM-DD`. */
  day: string;
  /** What the counter holds after it. */
  used: number;
  ceiling: number | null;
  plan: string;
  /** The database's clock. */
  readAt: Date;
};

/** Where a charge is. */
export type ChargeKey = { account_id: string; day: string; id: string };

/** How a charged request ended; tokens are null where they become known only after the first byte. */
export type FinalRow = ChargeKey & {
  status: number;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  latency_ms: number;
};

/** How a charge ended that was final before its end. */
export type CompletionRow = FinalRow & { code: string | null; input_tokens: number; output_tokens: number };

export type RefundRow = ChargeKey & { status: number; code: string; latency_ms: number };

/** plan → meter → ceiling (null: none). */
export type Ceilings = Record<string, Record<Meter, number | null>>;

/**
 * Admits charges, first come first served, each wholly or not at all.
 *
 * @param ceilings - of every plan; the statement itself reads which plan an account has
 * @param standard - the plan whose ceilings hold for accounts on a plan that is not offered any more
 * @param holder - the process whose lease guards the charges
 * @returns one decision a charge; none for the charges of an account that is gone
 */
export async function admitCharges(
  db: Db,
  charges: readonly ChargeRow[],
  ceilings: Ceilings,
  standard: string,
  holder: string,
): Promise<Decision[]> {
  type Row = Omit<Decision, 'used' | 'ceiling' | 'readAt'> & {
    used: string | number;
    ceiling: string | number | null;
    read_at: string;
  };
  const rows = await rowsOf<Row>(
    db,
    sql`select id, admitted, day::text, used, ceiling, plan, read_at
        from ledger_admit(${JSON.stringify(charges)}::jsonb, ${JSON.stringify(ceilings)}::jsonb, ${standard}, ${holder}::uuid)`,
  );
  return rows.map(({ used, ceiling, read_at: readAt, ...row }) => ({
    ...row,
    used: Number(used),
    ceiling: ceiling === null ? null : Number(ceiling),
    readAt: new Date(readAt),
  }));
}

/**
 * Moves charges from `admitted` to `final`, and adds their units and tokens to the day's totals.
 *
 * @returns the ids that moved; the others were settled by somebody else and must not be delivered
 */
export async function finaliseCharges(db: Db, outcomes: readonly FinalRow[]): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
      with outcome as (
        select * from jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) as o
          (account_id uuid, day date, id uuid, status smallint, model text, input_tokens int, output_tokens int, latency_ms int)
      ), moved as (
        update requests r
        set state = 'final', settled_at = ledger_now(), status = o.status, model = o.model,
            input_tokens = o.input_tokens, output_tokens = o.output_tokens, latency_ms = o.latency_ms
        from outcome o
        where r.account_id = o.account_id and r.day = o.day and r.id = o.id and r.state = 'admitted'
        returning r.account_id, r.day, r.id, coalesce(r.key_id, '00000000-0000-0000-0000-000000000000') as key_id, r.meter, r.units,
                  o.input_tokens + o.output_tokens as tokens
      ), amounts as (
        select account_id, day, key_id, meter, units as amount from moved
        union all
        select account_id, day, key_id, 'tokens', tokens from moved where tokens > 0
      ), per_key as (
        insert into key_usage (account_id, day, key_id, meter, used)
        select account_id, day, key_id, meter, sum(amount) from amounts group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (account_id, day, key_id, meter) do update set used = key_usage.used + excluded.used
      ), tokens as (
        insert into usage_counters (account_id, day, meter, used)
        select account_id, day, meter, sum(amount) from amounts where meter = 'tokens' group by 1, 2, 3 order by 1, 2, 3
        on conflict (account_id, day, meter) do update set used = usage_counters.used + excluded.used
      )
      select id from moved`,
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * Adds what became known of final charges after their first byte: tokens, the time they took, how they ended.
 * Once: a charge whose tokens are known is left as it is.
 */
export async function completeCharges(db: Db, outcomes: readonly CompletionRow[]): Promise<void> {
  await db.execute(sql`
    with outcome as (
      select * from jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) as o
        (account_id uuid, day date, id uuid, status smallint, code text, model text, input_tokens int, output_tokens int, latency_ms int)
    ), completed as (
      update requests r
      set status = o.status, code = o.code, model = o.model, input_tokens = o.input_tokens, output_tokens = o.output_tokens,
          latency_ms = o.latency_ms
      from outcome o
      where r.account_id = o.account_id and r.day = o.day and r.id = o.id and r.state = 'final' and r.input_tokens is null
      returning r.account_id, r.day, coalesce(r.key_id, '00000000-0000-0000-0000-000000000000') as key_id,
                o.input_tokens + o.output_tokens as tokens
    ), per_key as (
      insert into key_usage (account_id, day, key_id, meter, used)
      select account_id, day, key_id, 'tokens', sum(tokens) from completed group by 1, 2, 3 order by 1, 2, 3
      on conflict (account_id, day, key_id, meter) do update set used = key_usage.used + excluded.used
    )
    insert into usage_counters (account_id, day, meter, used)
    select account_id, day, 'tokens', sum(tokens) from completed group by 1, 2 order by 1, 2
    on conflict (account_id, day, meter) do update set used = usage_counters.used + excluded.used`);
}

/**
 * Moves charges from `admitted` to `refunded` and takes their units off the counters, once.
 *
 * @returns the ids that moved
 */
export async function refundCharges(db: Db, refunds: readonly RefundRow[]): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
      with refund as (
        select * from jsonb_to_recordset(${JSON.stringify(refunds)}::jsonb) as f
          (account_id uuid, day date, id uuid, status smallint, code text, latency_ms int)
      ), moved as (
        update requests r
        set state = 'refunded', settled_at = ledger_now(), status = f.status, code = f.code, latency_ms = f.latency_ms
        from refund f
        where r.account_id = f.account_id and r.day = f.day and r.id = f.id and r.state = 'admitted'
        returning r.account_id, r.day, r.id, r.meter, r.units
      ), amounts as (
        select account_id, day, meter, sum(units) as units from moved group by 1, 2, 3
      ), counters as (
        update usage_counters u set used = u.used - a.units
        from amounts a
        where u.account_id = a.account_id and u.day = a.day and u.meter = a.meter
      )
      select id from moved`,
  );
  return new Set(rows.map((row) => row.id));
}
