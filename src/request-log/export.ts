/** Exports all rows of the request log that match a filter, in files for other programs. Contract section 1. */
import type { Db } from '../database/client.ts';
import {
  type LogFilter,
  type LoggedRequestRow,
  type LogPosition,
  readRequestLog,
} from '../store/request-log.ts';

/** Rows that one statement reads. Memory holds only these rows. */
const ROWS_AT_ONCE = 500;

/** A row with only the columns that the owner may see. */
type Row = Omit<LoggedRequestRow, 'day' | 'upstream' | 'upstream_model' | 'cost_micros'>;

/** Reads all matching rows in batches, newest first. New requests do not affect later batches. */
async function* batches(db: Db, accountId: string, filter: LogFilter): AsyncGenerator<Row[], void> {
  for (let after: LogPosition | null | undefined; after !== null; ) {
    const { end, rows } = await readRequestLog(db, accountId, ROWS_AT_ONCE, filter, after);
    const last = rows.at(-1);
    // A full batch may omit rows that the statement has read.
    after = rows.length === ROWS_AT_ONCE && last !== undefined ? last : end;
    if (rows.length > 0)
      yield rows.map(
        ({ cost_micros: _cost, day: _, upstream: _server, upstream_model: _theirs, ...row }) => row,
      );
  }
}

/** Writes `{"data":[…]}`, like a page of the log. */
export async function* logAsJson(db: Db, accountId: string, filter: LogFilter): AsyncGenerator<string, void> {
  let separator = '{"data":[';
  for await (const rows of batches(db, accountId, filter)) {
    yield separator + rows.map((row) => JSON.stringify(row)).join(',');
    separator = ',';
  }
  yield separator === ',' ? ']}' : '{"data":[]}';
}

type Value = string | number | null;

const columns: readonly (readonly [string, (row: Row, keyName: string) => Value])[] = [
  ['time_utc', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['count', ({ count }) => count],
  ['endpoint', ({ endpoint }) => endpoint],
  ['key', (_, keyName) => keyName],
  ['key_id', ({ key_id }) => key_id],
  ['state', ({ state }) => state],
  ['status', ({ status }) => status],
  ['code', ({ code }) => code],
  ['meter', ({ meter }) => meter],
  ['units', ({ units }) => units],
  ['model', ({ model }) => model],
  ['input_tokens', ({ input_tokens }) => input_tokens],
  ['output_tokens', ({ output_tokens }) => output_tokens],
  ['latency_ms', ({ latency_ms }) => latency_ms],
  ['first_output_ms', ({ first_output_ms }) => first_output_ms],
  ['cached_tokens', ({ cached_tokens }) => cached_tokens],
  ['reasoning_tokens', ({ reasoning_tokens }) => reasoning_tokens],
  ['attempts', ({ attempts }) => attempts],
  ['id', ({ id }) => id],
];

/** Spreadsheets interpret such text as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function field(value: Value): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (values: readonly Value[]): string => `${values.map(field).join(',')}\r\n`;

/**
 * Writes CSV (RFC 4180) with a header. An apostrophe precedes text that a spreadsheet would interpret as a formula.
 *
 * @param keyNames - by the key's ID
 */
export async function* logAsCsv(
  db: Db,
  accountId: string,
  filter: LogFilter,
  keyNames: ReadonlyMap<string, string>,
): AsyncGenerator<string, void> {
  yield line(columns.map(([name]) => name));
  const nameOf = ({ key_id: id }: Row) => {
    if (id === null) return 'web';
    return keyNames.get(id) ?? '';
  };
  for await (const rows of batches(db, accountId, filter))
    yield rows.map((row) => line(columns.map(([, value]) => value(row, nameOf(row))))).join('');
}
