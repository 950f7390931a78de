/** Compares two configurations of the service, which alternate under the same load. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../test/support/postgres.ts';
import { makeKeys, withoutCeilings } from './accounts.ts';
import { Completions } from './completions.ts';
import { cpuSeconds, startServiceProcess } from './processes.ts';
import { machine, table } from './report.ts';

const CONNECTIONS = 32;

export type Way = { title: string; env: Record<string, string> };

export type Pair = {
  /** The machine, a table, and the method. */
  report: string;
  /** The second way divided by the first: the median, minimum, and maximum of the rounds. */
  ratio: { median: number; least: number; most: number };
  requests: [number, number];
};

/**
 * Measures chat completions on Postgres, 32 concurrent requests, after a warm-up. Each way has a separate database.
 *
 * @param seconds - the duration of each way's turn in a round
 * @param onStart - called when the measurement starts, after the warm-up
 */
export async function comparePair(
  ways: readonly [Way, Way],
  { onStart = () => {}, rounds, seconds }: { onStart?: () => void; rounds: number; seconds: number },
): Promise<Pair> {
  const ceilings = withoutCeilings();
  const started = [];
  for (const { env, title } of ways) {
    const database = await startPostgres({ durable: true });
    const service = await startServiceProcess({ ...ceilings.env, DATABASE_URL: database.url(), ...env });
    const keys = await makeKeys(service.origin, CONNECTIONS);
    started.push({ title, database, service, keys, turns: [] as { cpu: number; requests: number }[] });
  }
  for (let round = 0; round <= rounds; round += 1) {
    process.stderr.write(round === 0 ? 'warm-up\n' : `round ${round} of ${rounds}\n`);
    if (round === 1) onStart();
    for (const { keys, service, turns } of round % 2 === 0 ? started : started.toReversed()) {
      const load = new Completions();
      const before = cpuSeconds(service.pid);
      load.start(service.origin, keys);
      await sleep(seconds * 1000);
      await load.stop();
      if (round > 0) turns.push({ cpu: cpuSeconds(service.pid) - before, requests: load.requests });
    }
  }
  const about = await machine(started[0]?.database.url() ?? '');
  for (const { database, service } of started) {
    await service.stop();
    await database.drop();
  }
  ceilings.remove();

  const results = started.map(({ title, turns }) => {
    const requests = turns.reduce((sum, turn) => sum + turn.requests, 0);
    const cpu = turns.reduce((sum, turn) => sum + turn.cpu, 0);
    return {
      title,
      requests,
      micros: (cpu / requests) * 1e6,
      each: turns.map((turn) => turn.cpu / turn.requests),
    };
  });
  const [first, second] = results as [(typeof results)[0], (typeof results)[0]];
  const ratios = second.each.map((micros, n) => micros / (first.each[n] ?? micros)).sort((a, b) => a - b);
  return {
    report: `Chat completions of one upstream on Postgres, ${CONNECTIONS} concurrent requests, ${rounds} rounds of ${seconds} s per service, alternating.

${about}

${table(
  ['', 'requests/s', 'CPU of the service process, µs/request'],
  results.map(({ micros, requests, title }) => [
    title,
    Math.round(requests / (rounds * seconds)).toLocaleString('en'),
    micros.toFixed(0),
  ]),
)}`,
    ratio: {
      median: ratios[Math.floor(ratios.length / 2)] ?? 1,
      least: ratios[0] ?? 1,
      most: ratios.at(-1) ?? 1,
    },
    requests: [first.requests, second.requests],
  };
}

/** Such as "a median of 18% (12% to 21% across rounds)". */
export const moreCpu = ({ ratio: { least, median, most } }: Pair): string => {
  const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(0)}%`;
  return `a median of ${percent(median)} (${percent(least)} to ${percent(most)} across rounds)`;
};
