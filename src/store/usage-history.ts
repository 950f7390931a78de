/** An account's usage by day, and the names of the keys that caused it. Contract section 1. */
import { sql } from 'drizzle-orm';
import type { UsageMeter } from '../../schemas/usage.ts';
import { type Db, rowsOf } from '../database/client.ts';

/** Represents the web in primary keys that contain a key's ID. */
export const WEB_KEY = '00000000-0000-0000-0000-000000000000';

export type UsageRow = {
  day: string;
  meter: UsageMeter;
  used: number;
  /** `requests` is null for tokens, and for usage of older versions, which did not count requests. */
  byKey: { keyId: string | null; used: number; requests: number | null }[];
};

/** `days` includes today, by the database's clock. Days and meters without usage have no row. */
export async function readUsageHistory(
  db: Db,
  accountId: string,
  days: number,
): Promise<{ today: string; rows: UsageRow[] }> {
  type Share = { key_id: string; used: number; requests: number | null };
  type Row = { today: string; rows: { day: string; meter: UsageMeter; used: number; by_key: Share[] }[] };
  const [found] = await rowsOf<Row>(
    db,
    sql`
      with clock as materialized (select ledger_day(ledger_now()) as today),
      shares as (
        select day, meter, jsonb_agg(jsonb_build_object('key_id', key_id, 'used', used, 'requests', requests) order by used desc, key_id) as by_key
        from key_usage
        where account_id = ${accountId}::uuid
          and day > (select today - ${days}::int from clock) and day <= (select today from clock)
        group by day, meter
      ), totals as (
        select day, meter, used from usage_counters
        where account_id = ${accountId}::uuid
          and day > (select today - ${days}::int from clock) and day <= (select today from clock)
      )
      select today::text,
             (select coalesce(jsonb_agg(jsonb_build_object(
                'day', day, 'meter', meter, 'used', coalesce(used, 0), 'by_key', coalesce(by_key, '[]'))), '[]')
              from totals full join shares using (day, meter)) as rows
      from clock`,
  );
  if (found === undefined) throw new Error('The clock returned no row.');
  return {
    today: found.today,
    rows: found.rows.map(({ by_key: shares, ...row }) => ({
      ...row,
      byKey: shares.map(({ key_id: keyId, requests, used }) => ({
        keyId: keyId === WEB_KEY ? null : keyId,
        used,
        requests,
      })),
    })),
  };
}

export type KeyLabelRow = { id: string; name: string; public_id: string; active: boolean };

/** The most keys to list. An account may create and revoke any number of keys. */
const KEY_LABELS = 1000;

/** Keys usable in the last `days`: active ones first, then the newest. Beyond `KEY_LABELS`, keeps the last to end. */
export const listKeyLabels = (db: Db, accountId: string, days: number): Promise<KeyLabelRow[]> =>
  rowsOf<KeyLabelRow>(
    db,
    sql`
      with clock as materialized (select ledger_now() as now_at), candidates as (
        (select id, name, public_id, revoked_at, expires_at, created_at from api_keys
         where account_id = ${accountId}::uuid and least(revoked_at, expires_at) is null
         limit ${KEY_LABELS}::int)
        union all
        (select id, name, public_id, revoked_at, expires_at, created_at from api_keys
         where account_id = ${accountId}::uuid
           and least(revoked_at, expires_at) >= (select now_at - make_interval(days => ${days}::int) from clock)
         order by least(revoked_at, expires_at) desc limit ${KEY_LABELS}::int)
      )
      select k.id, k.name, k.public_id, k.revoked_at is null and coalesce(k.expires_at > clock.now_at, true) as active
      from candidates k, clock
      order by active desc, k.created_at desc, k.id desc
      limit ${KEY_LABELS}::int`,
  );
