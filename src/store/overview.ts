/** The operators' overview of all accounts. Contract section 17. */
import { type SQL, sql } from 'drizzle-orm';
import type { UsageMeter } from '../../schemas/usage.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { dayNumber, SLOW_MS } from '../database/tables.ts';
import { serviceCount } from './leases.ts';

/** Rows in each list. */
const MOST = 10;
/** Rows picked before the join, which would otherwise read all accounts. Some of them may have been deleted. */
const CANDIDATES = 10 * MOST;
export const RECENT_MINUTES = 60;

export type AccountCounts = { total: number; suspended: number };
export type MeterLoad = { meter: UsageMeter; used: number; accounts: number };
export type BusyAccount = { id: string; email: string; used: number };
export type RefusalCause = { code: string; status: number; count: number; accounts: number };
export type RefusedAccount = { id: string; email: string; code: string; count: number; last_at: string };
export type SlowRequest = {
  id: string;
  account_id: string;
  email: string;
  at: string;
  endpoint: string;
  model: string | null;
  upstream: string | null;
  status: number | null;
  latency_ms: number;
  first_output_ms: number | null;
};

export type UpstreamCost = { upstream: string; micros: number };

export type Overview = {
  at: string;
  day: string;
  replicas: number;
  open_charges: number;
  excess_tokens: number;
  accounts: AccountCounts;
  meters: MeterLoad[];
  busiest_accounts: BusyAccount[];
  refusals: RefusalCause[];
  refused_accounts: RefusedAccount[];
  slow_requests: SlowRequest[];
  costs: UpstreamCost[];
};

const iso = (column: SQL): SQL => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

// Subqueries, because an index cannot be searched for the result of a volatile function.
const today = sql`(select ledger_day(ledger_now()))`;
const isToday = sql`${dayNumber(sql`day`)} = ${dayNumber(today)}`;
const recent = sql`(select ledger_now() - make_interval(mins => ${RECENT_MINUTES}::int))`;

const state = sql`
  select ${iso(sql`ledger_now()`)} as at, ${today}::text as day,
         (${serviceCount})::int as replicas,
         (select count(*) from requests where state = 'admitted')::int as open_charges,
         (select coalesce(sum(excess), 0)::float8 from usage_counters where ${isToday} and meter = 'tokens') as excess_tokens,
         (select jsonb_build_object('total', count(*), 'suspended', count(suspended_at))
          from accounts where deleted_at is null) as accounts`;

const meters = sql`
  select meter, sum(used)::float8 as used, count(*) filter (where used > 0)::int as accounts
  from usage_counters where ${isToday} group by meter order by meter`;

const busiest = sql`
  select a.id, a.email, u.used::float8 as used
  from (
    select account_id, used from usage_counters where ${isToday} and meter = 'chat' and used > 0
    order by used desc, account_id limit ${CANDIDATES}::int
  ) u join accounts a on a.id = u.account_id and a.deleted_at is null
  order by u.used desc, a.id limit ${MOST}::int`;

const refusals = sql`
  select code, status, sum(count)::float8 as count, count(distinct account_id)::int as accounts
  from refusals where minute > ${recent} group by code, status order by 3 desc, code`;

const refusedAccounts = sql`
  select a.id, a.email, r.code, r.count::float8 as count, ${iso(sql`r.last_at`)} as last_at
  from (
    select account_id, code, sum(count) as count, max(minute) as last_at from refusals where minute > ${recent}
    group by account_id, code order by 3 desc, account_id limit ${CANDIDATES}::int
  ) r join accounts a on a.id = r.account_id and a.deleted_at is null
  order by r.count desc, a.id limit ${MOST}::int`;

const slow = sql`
  select r.id, r.account_id, a.email, ${iso(sql`r.admitted_at`)} as at, r.endpoint, r.model,
         r.details ->> 'upstream' as upstream, r.status, r.latency_ms,
         (r.details ->> 'first_output_ms')::int as first_output_ms
  from (
    select * from requests
    where day >= ${today} - 1 and admitted_at > ${recent} and latency_ms >= ${sql.raw(String(SLOW_MS))}
    order by latency_ms desc, id limit ${CANDIDATES}::int
  ) r join accounts a on a.id = r.account_id and a.deleted_at is null
  order by r.latency_ms desc, r.id limit ${MOST}::int`;

const costs = sql`
  select upstream, sum(micros)::float8 as micros from upstream_costs where day = ${today}
  group by upstream order by upstream`;

/** Each part is one statement under the database's statement timeout. None reads a whole day of charges. */
export async function readOverview(db: Db): Promise<Overview> {
  const [[now], ofMeters, busy, causes, refused, slowest, spent] = await Promise.all([
    rowsOf<Pick<Overview, 'at' | 'day' | 'replicas' | 'open_charges' | 'excess_tokens' | 'accounts'>>(
      db,
      state,
    ),
    rowsOf<MeterLoad>(db, meters),
    rowsOf<BusyAccount>(db, busiest),
    rowsOf<RefusalCause>(db, refusals),
    rowsOf<RefusedAccount>(db, refusedAccounts),
    rowsOf<SlowRequest>(db, slow),
    rowsOf<UpstreamCost>(db, costs),
  ]);
  if (now === undefined) throw new Error('The clock returned no row.');
  return {
    ...now,
    meters: ofMeters,
    busiest_accounts: busy,
    refusals: causes,
    refused_accounts: refused,
    slow_requests: slowest,
    costs: spent,
  };
}
