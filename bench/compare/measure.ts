/** Measures a target at 32 connections, then at one. */
import { type Capacity, findCapacity } from './capacity.ts';
import type { Load, LoadClient, LoadResult } from './load.ts';
import type { Row } from './rows.ts';
import type { Target } from './targets.ts';

export const CONNECTIONS = 32;
/** The first measurement of a target has a longer warm-up, while V8 compiles and pools connect. */
export const FIRST_WARM_UP_MS = 2000;
const WARM_UP_MS = 500;
const SINGLE_WARM_UP_MS = 200;

export type Measured = {
  /** CPU microseconds per request of all process trees, including Postgres. */
  cpu: number;
  postgresCpu: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Milliseconds at one connection, until the response is complete and until the first byte of its body. */
  single: number;
  singleFirstByte: number;
  /** Requests per second for each deadline of `capacity.ts`, if measured. */
  capacity: number[];
};

function requestOf(target: Target, row: Row, body: string | undefined): string {
  const headers = { host: `127.0.0.1:${target.port}`, accept: 'application/json', ...target.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const start = `${body === undefined ? 'GET' : 'POST'} ${target.base}${row.path} HTTP/1.1\r\n${lines.join('')}`;
  if (body === undefined) return `${start}\r\n`;
  const length = Buffer.byteLength(body);
  return `${start}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

/** The load of a row on a target, for any number of connections. */
export const loadOf = (target: Target, row: Row): Omit<Load, 'connections' | 'warmUpMs' | 'measureMs'> => ({
  port: target.port,
  requests: (row.bodies ?? [undefined]).map((body) => requestOf(target, row, body)),
  ending: row.ending,
  trees: target.trees,
});

/**
 * Measures a target. Problems are responses other than 200, and charges that do not match the responses.
 *
 * @param options - `seconds`: the measured time at 32 connections. At one connection, it is a third. `warmUpMs`: the warm-up
 */
export async function measure(
  client: LoadClient,
  target: Target,
  row: Row,
  {
    findsCapacity = false,
    seconds,
    warmUpMs = WARM_UP_MS,
  }: { findsCapacity?: boolean; seconds: number; warmUpMs?: number | undefined },
): Promise<{ measured: Measured; problems: string[] }> {
  const load = (fields: Pick<Load, 'connections' | 'warmUpMs' | 'measureMs'>) =>
    client.run({ ...loadOf(target, row), ...fields });
  const before = await target.ledger?.read();
  const many = await load({
    connections: CONNECTIONS,
    warmUpMs,
    measureMs: seconds * 1000,
  });
  const one = await load({ connections: 1, warmUpMs: SINGLE_WARM_UP_MS, measureMs: (seconds * 1000) / 3 });
  const capacity: Capacity = findsCapacity
    ? await findCapacity(client, loadOf(target, row))
    : { perSecond: [], loads: [] };
  const loads: LoadResult[] = [many, one, ...capacity.loads];
  const problems = loads.flatMap(({ answered, failures }) => [
    ...Object.entries(failures).map(([what, times]) => `${times} × ${what}`),
    ...(answered === 0 ? ['no response'] : []),
  ]);
  if (before !== undefined) problems.push(...((await target.ledger?.problems(row, before, loads)) ?? []));
  const perRequest = (ms: number) => (1000 * ms) / many.answered;
  const trees = Object.values(many.cpuMs);
  return {
    measured: {
      cpu: perRequest(trees.reduce((sum, ms) => sum + ms, 0)),
      postgresCpu: perRequest(many.cpuMs.postgres ?? 0),
      perSecond: (1000 * many.answered) / many.tookMs,
      p50: many.latency.p50,
      p99: many.latency.p99,
      single: one.latency.p50,
      singleFirstByte: one.firstByte.p50,
      capacity: capacity.perSecond,
    },
    problems,
  };
}
