/**
 * `make bench-routing`: the cost of `UPSTREAMS_FILE` with one target, compared with `CHAT_URL`. Two services alternate under
 * the same load for `ROUNDS` (7) rounds of `SECONDS` (5). Prints the result and writes it to `results/routing.md`. Asserts nothing.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startUpstream } from '../test/support/upstream/client.ts';
import { comparePair, moreCpu } from './support/pair.ts';
import { today, writeResult } from './support/report.ts';

const upstream = await startUpstream();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
const file = path.join(folder, 'upstreams.json');
fs.writeFileSync(
  file,
  JSON.stringify({
    upstreams: [{ name: 'only', kind: 'openai', url: upstream.url }],
    models: [{ name: 'test-model', targets: [{ upstream: 'only', model: 'test-model' }] }],
  }),
);

const pair = await comparePair(
  [
    { title: '`CHAT_URL`', env: { CHAT_URL: upstream.url } },
    { title: '`UPSTREAMS_FILE` with one target', env: { UPSTREAMS_FILE: file } },
  ],
  { rounds: Number(process.env.ROUNDS ?? 7), seconds: Number(process.env.SECONDS ?? 5) },
);
await upstream.stop();
fs.rmSync(folder, { recursive: true });

writeResult(
  'routing.md',
  `# Cost of routing

${today()}, \`make bench-routing\`. Goal: less than 5% more CPU.

${pair.report}

With routing, a request takes ${moreCpu(pair)} more CPU.
`,
);
process.exit();
