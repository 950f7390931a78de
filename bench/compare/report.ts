/** `bench/RESULTS.md`. */
import { readFileSync } from 'node:fs';
import { CONNECTIONS } from './measure.ts';
import { type RowOutcome, rowTable } from './results.ts';

const { dependencies } = JSON.parse(
  readFileSync(new URL('../peers/package.json', import.meta.url), 'utf8'),
) as { dependencies: Record<string, string> };

type Circumstances = { about: string; busy: number; rounds: number; seconds: number };

/** The whole report, in Markdown. */
export function report(results: RowOutcome[], { about, busy, rounds, seconds }: Circumstances): string {
  const peers = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
  return `# What a request costs

\`make bench\`, ${new Date().toISOString().slice(0, 10)}: ${rounds} interleaved rounds. In each, every line was measured for ${seconds} s at
${CONNECTIONS} connections and for ${(seconds / 3).toFixed(1)} s at one. The first round had a warm-up of two seconds.

${about}
- Peers: ${peers.join(', ')}
- Load average before the run: ${busy.toFixed(1)} (0 on an idle machine)

![CPU per request](results.svg)

## How to read this

- A cell is the median of the rounds, with the smallest and the largest value in parentheses.
- **CPU** is the user and system time of every process of the service, including Postgres, divided by the number of
  requests. The load client and the upstream do not count. This is the figure to compare: a busy machine changes it least.
- **× limit** divides the CPU by that of the bare route or bare proxy, which does only what the request needs
  and checks nothing.
- **Added** is the latency at one connection minus that of the bare route or bare proxy.
- Throughput and latencies hold for this machine, where the client, the upstream, the database, and the service share the
  processors.
- Parley runs as with \`make start\`: it authenticates, validates, rate-limits, logs to a file, and charges each request
  against an exact daily limit. Its one account has one key. Only limits that the load would reach are raised.
- Postgres runs with its default durability, on a disk.
- After each measurement, the number of answers equals the number of charges, and \`npm run audit\` is clean.

Measured apart, each with its own command: [routing](results/routing.md), [streams](results/stream.md), [the quota](results/quota.md),
[losing Redis](results/redis.md), [metrics](results/metrics.md), and [spans](results/spans.md).

${results.map(rowTable).join('\n\n')}
`;
}
