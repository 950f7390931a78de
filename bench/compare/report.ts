/** Builds `bench/RESULTS.md`. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { CONNECTIONS } from './measure.ts';
import { missingPeers, peers } from './peers.ts';
import { type RowOutcome, rowTable } from './results.ts';

const { dependencies } = JSON.parse(
  readFileSync(new URL('../peers/package.json', import.meta.url), 'utf8'),
) as { dependencies: Record<string, string> };

type Circumstances = { about: string; busy: number; isAll: boolean; rounds: number; seconds: number };

/** The version that a program prints with `-v`, such as `nginx/1.22.1`. */
const versionOf = (program: string) =>
  / (\S+\/\S+)/.exec(spawnSync(program, ['-v'], { encoding: 'utf8' }).stderr)?.[1] ?? program;

/** The whole report, in Markdown. */
export function report(
  results: RowOutcome[],
  { about, busy, isAll, rounds, seconds }: Circumstances,
): string {
  const versions = [
    ...Object.entries(dependencies).map(([name, version]) => `${name} ${version}`),
    ...peers.flatMap((peer) =>
      peer.program === undefined || missingPeers.includes(peer) ? [] : [versionOf(peer.program)],
    ),
  ];
  const missing = missingPeers.map(
    ({ program, title }) => `- Skipped: ${title} (${program} is not installed)\n`,
  );
  return `# Cost of a request

\`make ${isAll ? 'bench-all' : 'bench'}\`, ${new Date().toISOString().slice(0, 10)}: ${rounds} interleaved rounds. Each round measures every line for ${seconds} s at
${CONNECTIONS} connections and for ${(seconds / 3).toFixed(1)} s at one. The first round has a warm-up of two seconds.

${about}
- Peers: ${versions.join(', ')}
${missing.join('')}- Load average before the run: ${busy.toFixed(1)} (0 on an idle machine)

![CPU per request](results.svg)

## How to read this

- A cell is the median of the rounds, with the minimum and maximum in parentheses.
- **CPU** is the user and system time of every process of the service, including Postgres, divided by the number of
  requests. It excludes the load client and the upstream. Compare this value: a busy machine affects it least.
- **× baseline** divides the CPU by that of the bare route or bare proxy in the same round. These do only the necessary
  work, without any checks.
- **Added** is the latency at one connection minus that of the bare route or bare proxy in the same round.
- Throughput and latency apply to this machine, where the client, the upstream, the database, and the service share the
  processors.
- Parley runs as with \`make start\`: it authenticates, validates, rate-limits, logs to a file, and charges each request
  against an exact daily limit. Its only account has one key. Only limits that the load would reach are raised.
- Postgres runs with its default durability, on a disk.
- The throughput at a p99 of at most 10 or 50 ms is the maximum across 1, 2, 4, 8 … 128 connections (\`make bench-all\` only).
- nginx neither parses the body nor logs. Like the other peers, it serves requests in one process.
- After each measurement, the number of responses equals the number of charges, and \`npm run audit\` is clean.

Other benchmarks have separate commands: [startup](results/start.md), [many keys and a long ledger](results/scale.md),
[workers](results/workers.md), [routing](results/routing.md), [streams](results/stream.md), [exact quotas](results/quota.md),
[losing Redis](results/redis.md), [metrics](results/metrics.md), and [spans](results/spans.md).

[Missed goals](limits.md) explains why some rows miss their goals.

${results.map(rowTable).join('\n\n')}
`;
}
