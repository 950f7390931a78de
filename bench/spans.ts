/**
 * `make bench-spans`: the cost of exporting spans. Two services, one with `OTEL_EXPORTER_OTLP_ENDPOINT`, alternate under the
 * same load for `ROUNDS` (7) rounds of `SECONDS` (5). Prints the result and writes it to `results/spans.md`. Asserts nothing.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startUpstream } from '../test/support/upstream/client.ts';
import { comparePair, moreCpu } from './support/pair.ts';
import { today, writeResult } from './support/report.ts';

let exported = 0;
const collector = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    exported += chunk.byteLength;
  });
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});
await once(collector.listen(0, '127.0.0.1'), 'listening');
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const upstream = await startUpstream();
const CHAT_URL = upstream.url;

const pair = await comparePair(
  [
    { title: 'without spans', env: { CHAT_URL } },
    { title: 'with spans', env: { CHAT_URL, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } },
  ],
  {
    rounds: Number(process.env.ROUNDS ?? 7),
    seconds: Number(process.env.SECONDS ?? 5),
    onStart: () => {
      exported = 0;
    },
  },
);
await upstream.stop();
collector.close();

writeResult(
  'spans.md',
  `# Cost of exporting spans

${today()}, \`make bench-spans\`. Every request is sampled and has two spans.

${pair.report}

A traced request takes ${moreCpu(pair)} more CPU and sends ${Math.round(exported / pair.requests[1])} bytes to the collector.
`,
);
process.exit();
