/**
 * The load of `bench/compare.ts`. Each connection sends its next request once the previous response is complete. It uses plain
 * sockets, because undici and autocannon take more CPU from the services under test.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Samples } from '../support/samples.ts';
import { type Answer, AnswerReader } from './answer-reader.ts';
import type { Load, LoadResult } from './load.ts';
import { treeCpuMs } from './tree-cpu.ts';

async function run(load: Load): Promise<LoadResult> {
  const requests = load.requests.map((request) => Buffer.from(request));
  const latency = new Samples();
  const firstByte = new Samples();
  const failures: Record<string, number> = {};
  let phase: 'warm-up' | 'measured' | 'over' = 'warm-up';
  let turn = 0;
  let [answered, delivered] = [0, 0];

  const fail = (what: string) => {
    failures[what] = (failures[what] ?? 0) + 1;
  };
  const take = ({ isComplete, status }: Answer, sentAt: number, firstAt: number, now: number) => {
    if (status !== 200) return fail(`status ${status}`);
    if (!isComplete) return fail('an incomplete response');
    delivered += 1;
    if (phase !== 'measured') return;
    answered += 1;
    latency.add(now - sentAt);
    firstByte.add(firstAt - sentAt);
  };

  const connection = () =>
    new Promise<void>((resolve) => {
      const socket: Socket = connect(load.port, '127.0.0.1');
      const reader = new AnswerReader(load.ending);
      let [sentAt, firstAt] = [0, 0];
      const send = () => {
        if (phase === 'over') return void socket.destroy();
        turn = (turn + 1) % requests.length;
        [sentAt, firstAt] = [performance.now(), 0];
        socket.write(requests[turn] as Buffer);
      };
      socket.setNoDelay(true);
      socket.on('connect', send);
      socket.on('data', (chunk: Buffer) => {
        const answer = reader.read(chunk);
        const now = performance.now();
        if (firstAt === 0 && reader.hasBody) firstAt = now;
        if (answer === undefined) return;
        take(answer, sentAt, firstAt, now);
        sentAt = 0;
        send();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
      socket.on('close', () => {
        if (sentAt !== 0 && phase !== 'over') fail('a closed connection');
        resolve();
      });
    });

  const cpu = () => Object.entries(load.trees).map(([name, pid]) => [name, treeCpuMs(pid)] as const);
  const all = Array.from({ length: load.connections }, connection);
  await sleep(load.warmUpMs);
  // Responses that arrive while `/proc` is read count at the start, but not at the end.
  const before = Object.fromEntries(cpu());
  const from = performance.now();
  phase = 'measured';
  await sleep(load.measureMs);
  const after = cpu();
  const tookMs = performance.now() - from;
  phase = 'over';
  await Promise.all(all);
  return {
    answered,
    tookMs,
    latency: latency.spread(),
    firstByte: firstByte.spread(),
    cpuMs: Object.fromEntries(after.map(([name, ms]) => [name, ms - (before[name] ?? 0)])),
    delivered,
    failures,
  };
}

process.on('message', async (load: Load) => {
  process.send?.(await run(load));
});
process.on('disconnect', () => process.exit());
