/** The highest throughput of a target while its p99 stays within a deadline. */
import type { Load, LoadClient, LoadResult } from './load.ts';

/** Limits of the p99, in milliseconds. */
export const DEADLINES_MS = [10, 50] as const;
const MAX_DEADLINE_MS = Math.max(...DEADLINES_MS);
/** More connections increase throughput and latency until the processors are saturated. */
const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128];
const WARM_UP_MS = 300;
const MEASURE_MS = 1500;

export type Capacity = {
  /** Requests per second for each deadline, or 0 if even one connection misses it. */
  perSecond: number[];
  loads: LoadResult[];
};

/** Doubles the number of connections until the p99 exceeds the longest deadline. */
export async function findCapacity(
  client: LoadClient,
  load: Omit<Load, 'connections' | 'warmUpMs' | 'measureMs'>,
): Promise<Capacity> {
  const loads: LoadResult[] = [];
  for (const connections of CONNECTIONS) {
    const result = await client.run({ ...load, connections, warmUpMs: WARM_UP_MS, measureMs: MEASURE_MS });
    loads.push(result);
    if (result.latency.p99 > MAX_DEADLINE_MS) break;
  }
  const inTime = (deadline: number) => loads.filter(({ latency }) => latency.p99 <= deadline);
  return {
    loads,
    perSecond: DEADLINES_MS.map((deadline) =>
      Math.max(0, ...inTime(deadline).map(({ answered, tookMs }) => (1000 * answered) / tookMs)),
    ),
  };
}
