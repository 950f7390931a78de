/**
 * `make bench-scale`: whether requests and the dashboard's pages become slower with a million keys and a ledger of ten million
 * requests. Settings: `KEYS` (1000000), `REQUESTS` (10000000), `ROUNDS` (5), `BENCH_SECONDS` (3).
 *
 * Two services on one Postgres alternate under the same load: one has only the 1,000 keys that the load uses, and the other has
 * all keys. Then it requests the data of the dashboard's pages, as an operator whose account has a tenth of the ledger. After
 * each measurement, the charges must equal the responses that the client received, and the audit must be clean. Otherwise, the
 * run is invalid: it writes no results and exits with 1. Writes `results/scale.md`.
 */
import { loadavg, tmpdir } from 'node:os';
import postgres from 'postgres';
import { startLoadClient } from './compare/load.ts';
import { CONNECTIONS, FIRST_WARM_UP_MS, loadOf } from './compare/measure.ts';
import { rows } from './compare/rows.ts';
import { startSurroundings } from './compare/surroundings.ts';
import { startParley, type Target } from './compare/targets.ts';
import { addKeys, fillLedger } from './scale/fill.ts';
import { type PageTime, timePages } from './scale/pages.ts';
import { withoutCeilings } from './support/accounts.ts';
import { startServiceProcess } from './support/processes.ts';
import { machine, ms, table, today, writeResult } from './support/report.ts';

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const allKeys = number('KEYS', 1_000_000);
const allRequests = number('REQUESTS', 10_000_000);
const rounds = number('ROUNDS', 5);
const seconds = number('BENCH_SECONDS', 3);
const USED_KEYS = 1000;
const OPERATOR = 'bench-0@example.com';

const say = (text: string) => process.stderr.write(`${text}\n`);
const busy = loadavg()[0] ?? 0;
const row = rows.find(({ name }) => name === 'proxy-1k');
if (row === undefined) throw new Error('bench/compare/rows.ts has no proxy-1k.');
const surroundings = await startSurroundings(tmpdir());
const client = await startLoadClient();

type Service = {
  title: string;
  target: Target;
  sql: postgres.Sql;
  requests: string[];
  cpu: number[];
  perSecond: number[];
};
async function start(title: string): Promise<Service> {
  const target = await startParley('postgres', row as NonNullable<typeof row>, surroundings);
  const sql = postgres(target.databaseUrl as string, { max: 1, onnotice: () => {} });
  const keys = await addKeys(sql, USED_KEYS);
  const requests = keys.flatMap(
    (key) =>
      loadOf({ ...target, headers: { authorization: `Bearer ${key}` } }, row as NonNullable<typeof row>)
        .requests,
  );
  return { title, target, sql, requests, cpu: [], perSecond: [] };
}

const chargedToday = async ({ sql }: Service): Promise<number> =>
  Number(
    (
      await sql`select sum(used) as used from usage_counters where meter = 'chat' and day = ledger_day(ledger_now())`
    )[0]?.used ?? 0,
  );

const small = await start(`${USED_KEYS.toLocaleString('en')} keys`);
const large = await start(
  `${allKeys.toLocaleString('en')} keys, ${allRequests.toLocaleString('en')} requests in the ledger`,
);
say(`Writing ${allKeys} keys and ${allRequests} requests …`);
const filledFrom = performance.now();
await fillLedger(large.sql, { email: OPERATOR, keys: allKeys - USED_KEYS, requests: allRequests });
say(`Wrote them in ${((performance.now() - filledFrom) / 1000).toFixed(0)} s.`);

const problems: string[] = [];
async function measure(service: Service, title: string, requests: string[], isFirst: boolean): Promise<void> {
  const { cpu, perSecond, target } = service;
  const before = await chargedToday(service);
  const result = await client.run({
    ...loadOf(target, row as NonNullable<typeof row>),
    requests,
    connections: CONNECTIONS,
    warmUpMs: isFirst ? FIRST_WARM_UP_MS : 500,
    measureMs: seconds * 1000,
  });
  cpu.push((1000 * Object.values(result.cpuMs).reduce((sum, value) => sum + value, 0)) / result.answered);
  perSecond.push((1000 * result.answered) / result.tookMs);
  const charged = (await chargedToday(service)) - before;
  const found = Object.entries(result.failures).map(([what, times]) => `${times} × ${what}`);
  if (charged !== result.delivered) found.push(`${result.delivered} delivered, ${charged} charged`);
  problems.push(...found.map((problem) => `${service.title}, ${title}: ${problem}`));
  say(`${title}: ${service.title}: ${cpu.at(-1)?.toFixed(0)} µs, ${perSecond.at(-1)?.toFixed(0)} requests/s`);
}

async function compare(title: string, requestsOf: (service: Service) => string[]): Promise<string[][]> {
  for (let round = 0; round < rounds; round += 1)
    for (const service of round % 2 === 0 ? [small, large] : [large, small])
      await measure(service, `${title}, round ${round + 1}`, requestsOf(service), round === 0);
  const ratios = large.cpu.map((value, index) => value / (small.cpu[index] ?? Number.NaN));
  const lines = [small, large].map((service) => [
    title,
    service.title,
    spread(service.cpu, whole),
    service === large ? spread(ratios, (ratio) => ratio.toFixed(2)) : '',
    spread(service.perSecond, whole),
  ]);
  for (const service of [small, large]) {
    service.cpu = [];
    service.perSecond = [];
  }
  return lines;
}

const whole = (value: number) => Math.round(value).toLocaleString('en');
function spread(values: number[], write: (value: number) => string): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => write(sorted[index] ?? Number.NaN);
  return `${at(Math.floor(sorted.length / 2))} (${at(0)}–${at(sorted.length - 1)})`;
}

const hotPath = [
  ...(await compare('one key', ({ requests }) => requests.slice(0, 1))),
  ...(await compare(`${USED_KEYS.toLocaleString('en')} keys in turn`, ({ requests }) => requests)),
];
// A separate process, because `OPERATORS` must name an existing account.
const plans = withoutCeilings();
const forOperators = await startServiceProcess({
  ...plans.env,
  DATABASE_URL: large.target.databaseUrl as string,
  OPERATORS: OPERATOR,
});
const pages: PageTime[] = await timePages(forOperators.origin, OPERATOR);
await forOperators.stop();
plans.remove();
for (const { target } of [small, large]) problems.push(...((await target.ledger?.audit()) ?? []));
const about = await machine(surroundings.database.url());
for (const { sql, target } of [small, large]) {
  await sql.end();
  await target.stop();
}
client.stop();
await surroundings.stop();
if (problems.length > 0) {
  say(`This run is invalid:\n- ${problems.join('\n- ')}`);
  process.exit(1);
}

writeResult(
  'scale.md',
  `# Many keys and a long ledger

${today()}, \`make bench-scale\`. The load: ${row.title}; ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s, alternating. CPU includes the
service and Postgres. A cell is the median, with the minimum and maximum in parentheses. Goal: within 10%.

${about}
- Load average before the run: ${busy.toFixed(1)}

${table(['load', 'database', 'CPU µs/request', 'ratio', 'requests/s'], hotPath)}

Each response was charged once, and the audit was clean on both databases.

## The dashboard's requests

On the database with ${allRequests.toLocaleString('en')} requests in 30 days, by an operator whose account has a tenth of them. One request at a
time, ${pages[0]?.requests ?? 0} of each after the first. Goal: less than 100 ms.

${table(
  ['', 'median, ms', 'slowest, ms', 'first, ms'],
  pages.map(({ first, median, path, slowest }) => [`\`GET ${path}\``, ms(median), ms(slowest), ms(first)]),
)}
`,
);
process.exit();
