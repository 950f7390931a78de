/** Today's usage, by the database's clock. Contract section 2. */
import type { Meter } from '../../schemas/plans.ts';
import type { Database } from '../database/client.ts';

export type UsageReading = {
  plan: string;
  used: Record<Meter | 'tokens', number>;
  /** Tokens reserved by requests in progress. */
  reserved: number;
  /** Used tokens beyond the requests' reservations. For operators. */
  excess: number;
  readAt: Date;
};

const nothingUsed = { chat: 0, images: 0, search: 0, embeddings: 0, tokens: 0 };

/** Passes the array as text, because the driver would otherwise need its type. */
const READ_USAGE = `
  with clock as materialized (select ledger_now() as read_at)
  select a.id, a.plan, extract(epoch from clock.read_at)::float8 * 1000 as read_at, counted.used, counted.reserved, counted.excess
  from clock
  cross join unnest($1::text::uuid[]) as requested (id)
  join accounts a on a.id = requested.id
  cross join lateral (
    select coalesce(jsonb_object_agg(u.meter, u.used), '{}') as used, coalesce(sum(u.reserved), 0)::float8 as reserved,
           coalesce(sum(u.excess), 0)::float8 as excess
    from usage_counters u
    where u.account_id = a.id and u.day = ledger_day(clock.read_at)
  ) counted
  where a.deleted_at is null`;

/** Reads several accounts in one statement. The result omits accounts that no longer exist. */
export async function readUsage(
  database: Pick<Database, 'prepared'>,
  accountIds: readonly string[],
): Promise<Map<string, UsageReading>> {
  type Row = Pick<UsageReading, 'plan' | 'reserved' | 'excess'> & {
    id: string;
    read_at: number;
    used: Partial<UsageReading['used']>;
  };
  const rows = await database.prepared<Row>(READ_USAGE, [`{${[...new Set(accountIds)].join(',')}}`]);
  return new Map(
    rows.map(({ excess, id, plan, read_at: readAt, reserved, used }) => [
      id,
      { plan, readAt: new Date(readAt), reserved, excess, used: { ...nothingUsed, ...used } },
    ]),
  );
}
