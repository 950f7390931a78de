/**
 * `make bench-stream`: the overhead that Parley adds to a stream, and the cost of 1,000 streams. Settings: `STREAMS`
 * (1000), `SECONDS` (60), `CHUNKS_PER_SECOND` (20), and `PROFILE=folder` for a CPU profile of the second part.
 *
 * Postgres, the test upstream, Parley, and the load client are separate processes on this machine. Parley runs as in
 * production. The same client alternates between the upstream and Parley. Prints the results and writes them to
 * `results/stream.md`. Asserts nothing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { startPostgres } from '../test/support/postgres.ts';
import { MODEL, startUpstream } from '../test/support/upstream/client.ts';
import { makeKeys, withoutCeilings } from './support/accounts.ts';
import type { Load, LoadResult, Spread } from './support/load.ts';
import { cpuSeconds, memoryMegabytes, startLoadClient, startServiceProcess } from './support/processes.ts';
import { machine, ms, table } from './support/report.ts';

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const streams = number('STREAMS', 1000);
const seconds = number('SECONDS', 60);
const chunksPerSecond = number('CHUNKS_PER_SECOND', 20);
const profile = process.env.PROFILE;

const FEW = 50;
const ROUNDS = 3;
const DEFAULT_STREAMS_PER_ACCOUNT = 20;

const say = (text: string) => process.stderr.write(`${text}\n`);
const countBroken = (result: LoadResult) =>
  Object.values(result.broken).reduce((sum, count) => sum + count, 0);
const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The median of each value across rounds. */
const middle = (spreads: Spread[]): Spread => ({
  p50: median(spreads.map(({ p50 }) => p50)),
  p99: median(spreads.map(({ p99 }) => p99)),
  max: median(spreads.map(({ max }) => max)),
});

function comparison(direct: LoadResult[], through: LoadResult[]): string {
  const measures = [
    ['time to first byte', 'firstByte'],
    ['delay of a chunk', 'chunkDelay'],
    ['gap between chunks', 'chunkGap'],
  ] as const;
  const rows = measures.flatMap(([title, name]) => {
    const one = middle(direct.map((result) => result[name]));
    const other = middle(through.map((result) => result[name]));
    return (['p50', 'p99', 'max'] as const).map((point) => [
      `${title}, ${point}`,
      ms(one[point]),
      ms(other[point]),
      ms(other[point] - one[point]),
    ]);
  });
  return table(['milliseconds', 'direct', 'through Parley', 'added'], rows);
}

const brokenLine = (results: LoadResult[]) => {
  const reasons = results.flatMap(({ broken }) =>
    Object.entries(broken).map(([why, count]) => `${count} × ${why}`),
  );
  const all = results.reduce((sum, result) => sum + result.streams, 0);
  const broken = results.reduce((sum, result) => sum + countBroken(result), 0);
  return `Broken streams: ${broken} of ${all}${reasons.length > 0 ? ` (${reasons.join('; ')})` : ''}.`;
};

const busy = loadavg()[0] ?? 0;
const database = await startPostgres({ durable: true });
const plans = withoutCeilings();
const upstream = await startUpstream();
const client = await startLoadClient();
const env = {
  ...plans.env,
  DATABASE_URL: database.url(),
  CHAT_URL: upstream.url,
  // Raised so that this limit does not reject streams beyond the default.
  UPSTREAM_CONNECTIONS: String(Math.max(1000, 2 * streams)),
};

let parley = await startServiceProcess(env);
say(`Creating accounts for ${streams} streams …`);
const keys = await makeKeys(parley.origin, Math.ceil(Math.max(streams, FEW) / DEFAULT_STREAMS_PER_ACCOUNT));

const run = async (way: 'direct' | 'through', load: Omit<Load, 'url' | 'keys' | 'model'>) =>
  client.run({
    ...load,
    model: MODEL,
    keys: way === 'direct' ? ['none'] : keys,
    url: way === 'direct' ? `${upstream.url}/chat/completions` : `${parley.origin}/api/v1/chat/completions`,
  });

async function pace(chunks: number): Promise<void> {
  await upstream.configure({ chunks, chunkSize: 8, chunkIntervalMs: 1000 / chunksPerSecond, stamp: true });
}

// Consecutive streams of two seconds in each slot, so that starts are spread as in production.
say(`${FEW} concurrent streams, alternating direct and through Parley, ${ROUNDS} rounds …`);
const few = { streams: FEW, rampMs: 2000, generations: 5, chunks: 2 * chunksPerSecond };
await pace(few.chunks);
await run('through', few);
const fewDirect: LoadResult[] = [];
const fewThrough: LoadResult[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  fewDirect.push(await run('direct', few));
  fewThrough.push(await run('through', few));
}

// A new process, so that its memory is that of these streams only.
await parley.stop();
parley = await startServiceProcess(
  env,
  profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profile)}`],
);
const idle = memoryMegabytes(parley.pid).now;
const many = {
  streams,
  rampMs: Math.min(10_000, seconds * 500),
  generations: 1,
  chunks: seconds * chunksPerSecond,
};
await pace(many.chunks);
say(`${streams} streams of ${seconds} s, through Parley …`);
const before = [parley, client, upstream].map(({ pid }) => cpuSeconds(pid));
const connectionsBefore = (await upstream.calls()).connections;
const startedAt = performance.now();
const manyThrough = await run('through', many);
const wallSeconds = (performance.now() - startedAt) / 1000;
const [parleyCpu = 0, clientCpu = 0, upstreamCpu = 0] = [parley, client, upstream].map(
  ({ pid }, index) => cpuSeconds(pid) - (before[index] ?? 0),
);
// Fewer connections than streams would mean that some streams had to wait.
const connections = (await upstream.calls()).connections - connectionsBefore;
const { peak } = memoryMegabytes(parley.pid);
const directSeconds = Math.min(seconds, 20);
await pace(directSeconds * chunksPerSecond);
say(`${streams} streams of ${directSeconds} s, direct …`);
const manyDirect = await run('direct', { ...many, chunks: directSeconds * chunksPerSecond });

const share = (cpu: number) => `${cpu.toFixed(1)} s (${((100 * cpu) / wallSeconds).toFixed(0)}% of one CPU)`;
const text = `# Streams

The overhead that Parley adds to a stream of chat completions, and the cost of many streams: \`make bench-stream\`
(${streams} streams, ${seconds} s, ${chunksPerSecond} chunks per second). ${new Date().toISOString().slice(0, 10)}.

${await machine(database.url())}
- Load average before the run: ${busy.toFixed(1)} (0 on an idle machine)

Every request is authenticated, charged durably, logged, and validated as in production. "Direct" is the same client
calling the same upstream without Parley, in the same run.

## ${FEW} concurrent streams

The median of ${ROUNDS} alternating rounds, each with ${few.generations - 1} × ${FEW} measured streams and evenly spread starts.

${comparison(fewDirect, fewThrough)}

${brokenLine([...fewDirect, ...fewThrough])}

## ${streams} concurrent streams

${comparison([manyDirect], [manyThrough])}

${brokenLine([manyThrough])} ${manyThrough.chunks.toLocaleString('en')} chunks in ${wallSeconds.toFixed(0)} s.

${table(
  ['Parley', ''],
  [
    ['resident memory before', `${idle.toFixed(0)} MB`],
    ['peak resident memory', `${peak.toFixed(0)} MB`],
    ['memory per stream', `${((1000 * (peak - idle)) / streams).toFixed(0)} kB`],
    ['connections to the upstream', String(connections)],
    ['CPU', share(parleyCpu)],
    ['CPU per chunk', `${((1e6 * parleyCpu) / manyThrough.chunks).toFixed(1)} µs`],
    ['for comparison, CPU of the upstream', share(upstreamCpu)],
    ['for comparison, CPU of the client', share(clientCpu)],
  ],
)}
`;
console.log(text);
const results = new URL('./results/', import.meta.url);
mkdirSync(results, { recursive: true });
writeFileSync(new URL('stream.md', results), text);

await client.stop();
await parley.stop();
await upstream.stop();
await database.drop();
plans.remove();
process.exit();
