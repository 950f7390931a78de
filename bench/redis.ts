/**
 * `make bench-redis`: the effect of losing Redis on requests. Each phase takes `SECONDS` (5). Prints latencies
 * before, during, and after Redis is flushed, hangs, and is killed, and writes them to `results/redis.md`. Asserts nothing:
 * tests verify that the quota stays exact.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { startRedis } from '../test/support/redis.ts';
import { makeKeys, withoutCeilings } from './support/accounts.ts';
import { startServiceProcess } from './support/processes.ts';
import { machine, ms, table } from './support/report.ts';
import { Samples } from './support/samples.ts';

const phaseMs = Number(process.env.SECONDS ?? 5) * 1000;
const CONNECTIONS = 32;
const KEYS = 8;

const say = (text: string) => process.stderr.write(`${text}\n`);

type Phase = { title: string; samples: Samples; statuses: Map<number, number> };

/** Sends requests continuously until the last phase ends. A response counts toward the phase in which its request was sent. */
async function ask(origin: string, key: string, current: () => Phase | undefined): Promise<void> {
  for (let phase = current(); phase !== undefined; phase = current()) {
    const from = performance.now();
    const response = await fetch(`${origin}/api/v1/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ message: 'How do I create a key?', store: false }),
    });
    await response.arrayBuffer();
    phase.samples.add(performance.now() - from);
    phase.statuses.set(response.status, (phase.statuses.get(response.status) ?? 0) + 1);
  }
}

const busy = loadavg()[0] ?? 0;
const ceilings = withoutCeilings();
const database = await startPostgres({ durable: true });
const redis = await startRedis({ teardown: () => {} });
const service = await startServiceProcess({
  ...ceilings.env,
  DATABASE_URL: database.url(),
  REDIS_URL: redis.url,
});
const keys = await makeKeys(service.origin, KEYS);

let phase: Phase | undefined = { title: 'warm-up', samples: new Samples(), statuses: new Map() };
const senders = Array.from({ length: CONNECTIONS }, (_, n) =>
  ask(service.origin, keys[n % KEYS] as string, () => phase),
);
await sleep(2000);

const phases: Phase[] = [];
const measured = async (title: string, action: () => unknown = () => {}) => {
  say(title);
  const next = { title, samples: new Samples(), statuses: new Map() };
  phases.push(next);
  phase = next;
  await action();
  await sleep(phaseMs);
};
await measured('before');
await measured('flushed', () => redis.flush());
await measured('hung', () => redis.pause());
redis.resume();
await measured('after it resumes');
await measured('killed', () => redis.kill());
await measured('after it restarts empty', () => redis.start());
phase = undefined;
await Promise.all(senders);
const about = await machine(database.url());
await service.stop();
await redis.kill();
await database.drop();
ceilings.remove();

const rows = phases.map(({ samples, statuses, title }) => {
  const { max, p50, p99 } = samples.spread();
  const count = [...statuses.values()].reduce((sum, each) => sum + each, 0);
  const others = [...statuses].filter(([status]) => status !== 200).map(([status, n]) => `${n} × ${status}`);
  return [
    title,
    Math.round(count / (phaseMs / 1000)).toLocaleString('en'),
    ms(p50),
    ms(p99),
    ms(max),
    others.join(', ') || '0',
  ];
});
const report = `# Cost of losing Redis

${new Date().toISOString().slice(0, 10)}, \`make bench-redis\`: \`POST /chat\` on the built-in engine, ${CONNECTIONS} concurrent requests with ${KEYS} keys, ${phaseMs / 1000} s
per phase. Redis is flushed, frozen (its connections stay open without responses), and killed under load.

${about}
- Load average before the run: ${busy.toFixed(1)}

${table(['Redis', 'requests/s', 'p50 ms', 'p99 ms', 'max ms', 'not 200'], rows)}
`;
process.stdout.write(report);
mkdirSync(resolve('bench/results'), { recursive: true });
writeFileSync(resolve('bench/results/redis.md'), report);
process.exit();
