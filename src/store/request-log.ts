/**
 * The request log: charges and refusals, merged by time. Contract sections 1 and 5. Indexes cover the order (day, time,
 * ID) for all charges, for a key's, and for failed ones. Other filters search a window of rows. A page may therefore
 * have fewer rows than requested, and reports how far it searched.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Meter } from '../../schemas/plans.ts';
import type { requestStates } from '../../schemas/request-log.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { WEB_KEY } from './usage-history.ts';

export type LogPosition = { day: string; at: string; id: string };

export type LogFilter = {
  /** The ID of one request. Refusals are counted without IDs. */
  id?: string;
  /** A key's ID, or null for the web. */
  keyId?: string | null;
  /** Method and path. Refusals are counted without endpoints. */
  endpoint?: string;
  /** Refusals have no model. */
  model?: string;
  /** Inclusive. */
  statuses?: { first: number; last: number };
  /** Inclusive. */
  from?: Date;
  /** Exclusive. */
  to?: Date;
};

export type LoggedRequestRow = LogPosition & {
  kind: 'request' | 'refusals';
  key_id: string | null;
  endpoint: string | null;
  meter: Meter | null;
  units: number;
  state: (typeof requestStates)[number];
  status: number | null;
  code: string | null;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  latency_ms: number | null;
  first_output_ms: number | null;
  cached_tokens: number | null;
  reasoning_tokens: number | null;
  attempts: number | null;
  /** `upstream`, `upstream_model`, and `cost_micros` are for operators only. */
  upstream: string | null;
  upstream_model: string | null;
  cost_micros: number | null;
  count: number;
};

export type LogPage = {
  rows: LoggedRequestRow[];
  /** How far the page searched; null if it searched everything. */
  end: LogPosition | null;
};

/** How many charges, and how many refusals, one statement reads if some rows may not match the filter. */
export const WINDOW_ROWS = 400;

const all = (conditions: (SQL | undefined)[]): SQL =>
  sql.join(
    conditions.filter((condition) => condition !== undefined),
    sql` and `,
  );

const DAY_MS = 86_400_000;
const utcDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Times are rounded to the millisecond, so a time at midnight may belong to the day before. */
const firstDay = (from: Date) => utcDay(from.getTime() - 1);

/** Separates the first day, because the planner expects almost no rows for a single row comparison. */
function parts({ to }: LogFilter, after: LogPosition | undefined): SQL[] {
  const end = to && { day: utcDay(to.getTime()), at: to.toISOString() };
  if (after !== undefined && !(end && end.at < after.at))
    return [
      sql`day = ${after.day}::date and (admitted_at, id) < (${after.at}::timestamptz, ${after.id}::uuid)`,
      sql`day < ${after.day}::date`,
    ];
  if (end === undefined) return [];
  return [sql`day = ${end.day}::date`, sql`day < ${end.day}::date`];
}

/** The days on which a request may have been admitted: its UUIDv7's day and both neighbors, as clocks differ. */
export function daysOf(id: string): string[] {
  const madeAt = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  const isPossible = id.charAt(14) === '7' && madeAt > DAY_MS && madeAt < Date.UTC(9999, 0);
  return isPossible ? [-1, 0, 1].map((days) => utcDay(madeAt + days * DAY_MS)) : [];
}

type Source = {
  where: SQL;
  among: SQL | undefined;
};

function chargesOf(accountId: string, filter: LogFilter): Source {
  const { endpoint, from, id, keyId, model, statuses, to } = filter;
  const areFailed = statuses !== undefined && statuses.first >= 400;
  const isOfKey =
    keyId === undefined
      ? undefined
      : sql`coalesce(key_id, '00000000-0000-0000-0000-000000000000'::uuid) = ${keyId ?? WEB_KEY}::uuid`;
  // Three equality conditions instead of a range, so that Postgres looks up the primary key for each day.
  const days = id === undefined ? [] : daysOf(id);
  const isAsked =
    days.length === 0
      ? sql`false`
      : sql`id = ${id}::uuid and day in (${sql.join(
          days.map((day) => sql`${day}::date`),
          sql`, `,
        )})`;
  return {
    where: all([
      sql`account_id = ${accountId}::uuid`,
      id === undefined ? undefined : isAsked,
      areFailed ? sql`status >= 400` : isOfKey,
      from &&
        sql`(day, admitted_at) >= (${firstDay(from)}::date, ${from.toISOString()}::timestamptz) and day >= ${firstDay(from)}::date
            and admitted_at >= ${from.toISOString()}::timestamptz`,
      to && sql`admitted_at < ${to.toISOString()}::timestamptz`,
    ]),
    among:
      endpoint === undefined && model === undefined && statuses === undefined
        ? undefined
        : all([
            sql`true`,
            areFailed ? isOfKey : undefined,
            endpoint === undefined ? undefined : sql`endpoint = ${endpoint}`,
            model === undefined ? undefined : sql`model = ${model}`,
            statuses && sql`status between ${statuses.first}::int and ${statuses.last}::int`,
          ]),
  };
}

/** An ID for a row of refusals, which has none. A UUIDv7 of its minute, which does not change as the count grows. */
const refusalId = sql`(
  select (lpad(to_hex((extract(epoch from minute) * 1000)::bigint), 12, '0')
          || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid
  from md5(concat_ws('|', account_id, key_id, code)) as hash)`;

function refusalsOf(accountId: string, filter: LogFilter, after: LogPosition | undefined): Source {
  const { endpoint, from, id, keyId, model, statuses, to } = filter;
  return {
    where: all([
      sql`account_id = ${accountId}::uuid`,
      from && sql`minute >= ${from.toISOString()}::timestamptz`,
      to && sql`minute < ${to.toISOString()}::timestamptz`,
      after &&
        sql`minute <= ${after.at}::timestamptz and (ledger_day(minute), minute, ${refusalId})
          < (${after.day}::date, ${after.at}::timestamptz, ${after.id}::uuid)`,
      endpoint === undefined && id === undefined && model === undefined ? undefined : sql`false`,
    ]),
    among:
      keyId === undefined && statuses === undefined
        ? undefined
        : all([
            sql`true`,
            keyId === undefined ? undefined : sql`key_id = ${keyId ?? WEB_KEY}::uuid`,
            statuses && sql`status between ${statuses.first}::int and ${statuses.last}::int`,
          ]),
  };
}

const inOrder = sql`order by requests.day desc, requests.admitted_at desc, requests.id desc`;

/** Two limits: for an unknown limit, the planner expects a tenth of the rows, and compiles (JIT) for that many. */
function seenCharges(where: SQL, [ofDay, before]: SQL[], rows: number): SQL {
  if (ofDay === undefined || before === undefined)
    return sql`seen_charges as materialized (select * from requests where ${where} ${inOrder} limit ${rows}::int)`;
  return sql`charges_of_day as materialized (
    select * from requests where ${where} and ${ofDay} ${inOrder} limit ${rows}::int
  ), seen_charges as materialized (
    select * from charges_of_day
    union all
    (select * from (select * from requests where ${where} and ${before} ${inOrder} limit ${rows}::int) as requests
     ${inOrder} limit ${rows}::int - (select count(*) from charges_of_day))
  )`;
}

/** Exported so that tests can inspect its query plan. */
export function requestLogStatement(
  accountId: string,
  limit: number,
  filter: LogFilter,
  after?: LogPosition,
): SQL {
  const charges = chargesOf(accountId, filter);
  const refusals = refusalsOf(accountId, filter, after);
  const rowsOfWindow = ({ among }: Source) => (among === undefined ? limit : Math.max(limit, WINDOW_ROWS));
  // Apply the order and the limit before the filters that no index covers.
  return sql`
  with ${seenCharges(charges.where, parts(filter, after), rowsOfWindow(charges))}, seen_refusals as materialized (
    select *, ${refusalId} as id from refusals where ${refusals.where}
    order by minute desc, id desc limit ${rowsOfWindow(refusals)}::int
  ), ends as (
    (select day, admitted_at as at, id from seen_charges
     where (select count(*) from seen_charges) = ${rowsOfWindow(charges)}::int
     order by day, admitted_at, id limit 1)
    union all
    (select ledger_day(minute), minute, id from seen_refusals
     where (select count(*) from seen_refusals) = ${rowsOfWindow(refusals)}::int
     order by minute, id limit 1)
  ), page as (
    select day, admitted_at as at, id, 'request' as kind, key_id, endpoint, meter, units, state, status, code, model,
           input_tokens, output_tokens, latency_ms, (details ->> 'first_output_ms')::int as first_output_ms,
           (details ->> 'cached_tokens')::int as cached_tokens, (details ->> 'reasoning_tokens')::int as reasoning_tokens,
           (details ->> 'attempts')::int as attempts, details ->> 'upstream' as upstream,
           details ->> 'upstream_model' as upstream_model,
           (details ->> 'cost_micros')::float8 as cost_micros, 1 as count
    from seen_charges where ${charges.among ?? sql`true`}
    union all
    select ledger_day(minute), minute, id, 'refusals', nullif(key_id, ${WEB_KEY}::uuid), null, null, 0,
           'refused', status, code, null, null, null, null, null, null, null, null, null, null, null, count
    from seen_refusals where ${refusals.among ?? sql`true`}
  ), shown as (
    -- Below the end of either window the other's rows may have newer ones missing between them.
    select page.* from page where not exists (
      select from ends where (page.day, page.at, page.id) < (ends.day, ends.at, ends.id))
    order by page.day desc, page.at desc, page.id desc limit ${limit}::int
  ), "end" as (
    select day, at, id, 'end' as kind from ends order by day desc, at desc, id desc limit 1
  ), entries as (
    select * from shown
    union all
    select *, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null from "end"
  )
  select day::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, id, kind, key_id, endpoint,
         meter, units, state, status, code, model, input_tokens, output_tokens, latency_ms, first_output_ms,
         cached_tokens, reasoning_tokens, attempts, upstream, upstream_model, cost_micros, count
  from entries order by kind = 'end', entries.day desc, entries.at desc, entries.id desc`;
}

/** Newest first. New rows come before all pages already read, and rows never move. */
export async function readRequestLog(
  db: Db,
  accountId: string,
  limit: number,
  filter: LogFilter,
  after?: LogPosition,
): Promise<LogPage> {
  type Entry = Omit<LoggedRequestRow, 'kind'> & { kind: LoggedRequestRow['kind'] | 'end' };
  const entries = await rowsOf<Entry>(db, requestLogStatement(accountId, limit, filter, after));
  const end = entries.find(({ kind }) => kind === 'end');
  return {
    rows: entries.filter((row): row is LoggedRequestRow => row.kind !== 'end'),
    end: end === undefined ? null : { day: end.day, at: end.at, id: end.id },
  };
}
