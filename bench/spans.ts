/**
 * `make bench-spans`: what exporting spans costs. Two services, one with `OTEL_EXPORTER_OTLP_ENDPOINT`, answer the same load
 * in turns of `SECONDS` (5). Prints the result and writes it to `results/spans.md`. Asserts nothing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { startUpstream } from '../test/support/upstream/client.ts';
import { makeKeys, withoutCeilings } from './support/accounts.ts';
import { Completions } from './support/completions.ts';
import { cpuSeconds, startServiceProcess } from './support/processes.ts';
import { machine, table } from './support/report.ts';

const seconds = Number(process.env.SECONDS ?? 5);
const ROUNDS = 5;
const CONNECTIONS = 32;

const busy = loadavg()[0] ?? 0;
const ceilings = withoutCeilings();
const upstream = await startUpstream();
let exported = 0;
const collector = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    exported += chunk.byteLength;
  });
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});
await new Promise<void>((listening) => collector.listen(0, '127.0.0.1', listening));
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

const databases = [await startPostgres({ durable: true }), await startPostgres({ durable: true })] as const;
const start = async (title: string, url: string, env: Record<string, string>) => {
  const service = await startServiceProcess({
    ...ceilings.env,
    ...{ DATABASE_URL: url, CHAT_URL: upstream.url },
    ...env,
  });
  const keys = await makeKeys(service.origin, CONNECTIONS);
  return { title, service, keys, cpu: 0, requests: 0 };
};
const services = [
  await start('without spans', databases[0].url(), {}),
  await start('with spans', databases[1].url(), { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
];

for (let round = 0; round <= ROUNDS; round += 1) {
  process.stderr.write(round === 0 ? 'warm-up\n' : `round ${round}\n`);
  if (round === 1) exported = 0;
  for (const one of round % 2 === 0 ? services : services.toReversed()) {
    const load = new Completions();
    const before = cpuSeconds(one.service.pid);
    load.start(one.service.origin, one.keys);
    await sleep(seconds * 1000);
    await load.stop();
    if (round === 0) continue;
    one.cpu += cpuSeconds(one.service.pid) - before;
    one.requests += load.requests;
  }
}
const about = await machine(databases[0].url());
for (const { service } of services) await service.stop();
await upstream.stop();
for (const database of databases) await database.drop();
collector.close();
ceilings.remove();

const [without, traced] = services.map(({ cpu, requests }) => (cpu / requests) * 1e6) as [number, number];
const report = `# What exporting spans costs

${new Date().toISOString().slice(0, 10)}, \`make bench-spans\`: chat completions of one upstream on Postgres, ${CONNECTIONS} at once, ${ROUNDS} rounds of ${seconds} s for
each service in turn. Every request is sampled, and has two spans.

${about}
- Load average before: ${busy.toFixed(1)}

${table(
  ['', 'requests/s', "CPU of the service's process, µs/request"],
  services.map(({ cpu, requests, title }) => [
    title,
    Math.round(requests / (ROUNDS * seconds)).toLocaleString('en'),
    ((cpu / requests) * 1e6).toFixed(0),
  ]),
)}

A traced request costs ${(traced - without).toFixed(0)} µs more, ${((traced / without - 1) * 100).toFixed(0)} %, and ${Math.round(exported / (services[1]?.requests ?? 1))} bytes to the collector.
`;
process.stdout.write(report);
mkdirSync(resolve('bench/results'), { recursive: true });
writeFileSync(resolve('bench/results/spans.md'), report);
process.exit();
