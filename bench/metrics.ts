/**
 * `make bench-metrics`: the cost of scraping `/metrics` under full load. Alternates rounds without scrapes and with `SCRAPES`
 * (10) per second, each `SECONDS` (5) long, and divides the difference in CPU time by the number of scrapes. Prints the result
 * and writes it to `results/metrics.md`. Asserts nothing.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { startUpstream } from '../test/support/upstream/client.ts';
import { makeKeys, withoutCeilings } from './support/accounts.ts';
import { Completions } from './support/completions.ts';
import { cpuSeconds, startServiceProcess } from './support/processes.ts';
import { machine, table, today, writeResult } from './support/report.ts';

const seconds = Number(process.env.SECONDS ?? 5);
const perSecond = Number(process.env.SCRAPES ?? 10);
const ROUNDS = 5;
const CONNECTIONS = 32;
/** Prometheus's usual scrape interval. */
const INTERVAL_S = 15;

const busy = loadavg()[0] ?? 0;
const ceilings = withoutCeilings();
const database = await startPostgres({ durable: true });
const upstream = await startUpstream();
const service = await startServiceProcess({
  ...ceilings.env,
  DATABASE_URL: database.url(),
  CHAT_URL: upstream.url,
});
const keys = await makeKeys(service.origin, CONNECTIONS);

const load = new Completions();
let bytes = 0;

type Round = { cpu: number; requests: number; scrapes: number };

async function round(scrapesPerSecond: number): Promise<Round> {
  const before = { cpu: cpuSeconds(service.pid), requests: load.requests };
  let scrapes = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    if (scrapesPerSecond === 0) await sleep(100);
    else {
      bytes = (await (await fetch(`${service.origin}/metrics`)).arrayBuffer()).byteLength;
      scrapes += 1;
      await sleep(1000 / scrapesPerSecond);
    }
  }
  return { cpu: cpuSeconds(service.pid) - before.cpu, requests: load.requests - before.requests, scrapes };
}

load.start(service.origin, keys);
await round(0);
const [without, scraped]: [Round[], Round[]] = [[], []];
for (let n = 0; n < ROUNDS; n += 1) {
  process.stderr.write(`round ${n + 1}\n`);
  without.push(await round(0));
  scraped.push(await round(perSecond));
}
await load.stop();
const about = await machine(database.url());
await service.stop();
await upstream.stop();
await database.drop();
ceilings.remove();

const sum = (rounds: Round[]): Round => ({
  cpu: rounds.reduce((all, { cpu }) => all + cpu, 0),
  requests: rounds.reduce((all, one) => all + one.requests, 0),
  scrapes: rounds.reduce((all, { scrapes }) => all + scrapes, 0),
});
const [plain, busyOne] = [sum(without), sum(scraped)];
const perRequest = plain.cpu / plain.requests;
const perScrape = (busyOne.cpu - busyOne.requests * perRequest) / busyOne.scrapes;
const line = (title: string, { cpu, requests: count, scrapes }: Round) => [
  title,
  Math.round(count / (ROUNDS * seconds)).toLocaleString('en'),
  String(scrapes),
  ((cpu / count) * 1e6).toFixed(0),
];
const report = `# Cost of scraping \`/metrics\`

${today()}, \`make bench-metrics\`: chat completions of one upstream on Postgres, ${CONNECTIONS} concurrent requests, ${ROUNDS} rounds of ${seconds} s each.

${about}
- Load average before the run: ${busy.toFixed(1)}

${table(
  ['', 'requests/s', 'scrapes', 'CPU of the service process, µs/request'],
  [line('no scrapes', plain), line(`${perSecond} scrapes/s`, busyOne)],
)}

A scrape of ${bytes.toLocaleString('en')} bytes takes ${(perScrape * 1000).toFixed(1)} ms of CPU time. At one scrape every ${INTERVAL_S} s, that is
${((perScrape / INTERVAL_S) * 100).toFixed(3)}% of one processor.
`;
writeResult('metrics.md', report);
process.exit();
