/**
 * The request log: charges and refusals of an account, merged by time. Contract sections 1 and 5.
 *
 * The order is day, time, id. Charges of an account are found by their primary key (account, day, id), and the day leads
 * the order, so that a page reads the account's charges of the days it shows and of no other.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { requestStates } from '../../schemas/request-log.ts';
import { type Db, rowsOf } from './client.ts';
import { WEB_KEY } from './usage-history.ts';

/** A place in the log: the row that a page ended with. */
export type LogPosition = { day: string; at: string; id: string };

export type LogFilter = {
  /** One request; refusals are counted without theirs. */
  id?: string;
  /** A key's id, or null for the web. */
  keyId?: string | null;
  /** Method and path. Refusals are counted without it. */
  endpoint?: string;
  /** Both included. */
  statuses?: { first: number; last: number };
  /** Included. */
  from?: Date;
  /** Not included. */
  to?: Date;
};

export type LoggedRequestRow = LogPosition & {
  kind: 'request' | 'refusals';
  key_id: string | null;
  endpoint: string | null;
  meter: 'chat' | 'images' | 'search' | null;
  units: number;
  state: (typeof requestStates)[number];
  status: number | null;
  code: string | null;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  latency_ms: number | null;
  count: number;
};

const all = (conditions: (SQL | undefined)[]): SQL =>
  sql.join(
    conditions.filter((condition) => condition !== undefined),
    sql` and `,
  );

const utcDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Times are stored rounded to the millisecond: one at midnight may belong to the day that ended there. */
const firstDay = (from: Date) => utcDay(from.getTime() - 1);

function chargesWhere(accountId: string, filter: LogFilter, after: LogPosition | undefined): SQL {
  const { endpoint, from, id, keyId, statuses, to } = filter;
  return all([
    sql`account_id = ${accountId}::uuid`,
    id === undefined ? undefined : sql`id = ${id}::uuid`,
    from && sql`day >= ${firstDay(from)}::date and admitted_at >= ${from.toISOString()}::timestamptz`,
    to && sql`day <= ${utcDay(to.getTime())}::date and admitted_at < ${to.toISOString()}::timestamptz`,
    after &&
      sql`day <= ${after.day}::date
          and (day, admitted_at, id) < (${after.day}::date, ${after.at}::timestamptz, ${after.id}::uuid)`,
    keyId === undefined ? undefined : sql`key_id is not distinct from ${keyId}::uuid`,
    endpoint === undefined ? undefined : sql`endpoint = ${endpoint}`,
    statuses && sql`status between ${statuses.first}::int and ${statuses.last}::int`,
  ]);
}

/** A row of refusals has no id of its own; this one, a UUIDv7 of its minute, stays the same as it counts on. */
const refusalId = sql`(
  select (lpad(to_hex((extract(epoch from minute) * 1000)::bigint), 12, '0')
          || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid
  from md5(concat_ws('|', account_id, key_id, code)) as hash)`;

function refusalsWhere(accountId: string, filter: LogFilter, after: LogPosition | undefined): SQL {
  const { endpoint, from, id, keyId, statuses, to } = filter;
  return all([
    sql`account_id = ${accountId}::uuid`,
    from && sql`minute >= ${from.toISOString()}::timestamptz`,
    to && sql`minute < ${to.toISOString()}::timestamptz`,
    after &&
      sql`minute <= ${after.at}::timestamptz and (ledger_day(minute), minute, ${refusalId})
          < (${after.day}::date, ${after.at}::timestamptz, ${after.id}::uuid)`,
    keyId === undefined ? undefined : sql`key_id = ${keyId ?? WEB_KEY}::uuid`,
    endpoint === undefined && id === undefined ? undefined : sql`false`,
    statuses && sql`status between ${statuses.first}::int and ${statuses.last}::int`,
  ]);
}

/** The statement of a page; apart, so that its plan can be looked at. */
export const requestLogStatement = (
  accountId: string,
  limit: number,
  filter: LogFilter,
  after?: LogPosition,
): SQL => sql`
  with charges as (
    select day, admitted_at as at, id, 'request' as kind, key_id, endpoint, meter, units, state, status, code, model,
           input_tokens, output_tokens, latency_ms, 1 as count
    from requests where ${chargesWhere(accountId, filter, after)}
    order by requests.day desc, requests.admitted_at desc, requests.id desc limit ${limit}::int
  ), refused as (
    select ledger_day(minute) as day, minute as at, ${refusalId} as id, 'refusals' as kind,
           nullif(key_id, ${WEB_KEY}::uuid) as key_id, null::text as endpoint, null::text as meter, 0 as units,
           'refused' as state, status, code, null::text as model, null::int as input_tokens, null::int as output_tokens,
           null::int as latency_ms, count
    from refusals where ${refusalsWhere(accountId, filter, after)}
    order by minute desc, 3 desc limit ${limit}::int
  ), page as (
    select * from charges union all select * from refused order by day desc, at desc, id desc limit ${limit}::int
  )
  select day::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, id, kind, key_id, endpoint,
         meter, units, state, status, code, model, input_tokens, output_tokens, latency_ms, count
  from page order by page.day desc, page.at desc, page.id desc`;

/**
 * A page of the log, newest first. Rows that arrive are newer than every page that was read, and a row never changes
 * its place.
 *
 * @param after - where the previous page ended
 */
export const readRequestLog = (
  db: Db,
  accountId: string,
  limit: number,
  filter: LogFilter,
  after?: LogPosition,
): Promise<LoggedRequestRow[]> =>
  rowsOf<LoggedRequestRow>(db, requestLogStatement(accountId, limit, filter, after));
