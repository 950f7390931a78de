/** The honest client's process: calls `/healthz` and `/chat` during an attack, and reports latencies and failures. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Spread } from '../support/load.ts';
import { Samples } from '../support/samples.ts';
import type { Target } from './attack.ts';
import { send } from './client.ts';

export type Served = { health: Spread; chats: number; failed: Record<string, number> };

const HEALTH_EVERY_MS = 20;
const CHAT_EVERY_MS = 500;
/** A chat request that takes longer counts as failed. */
const TIMEOUT_MS = 10_000;

process.on('message', async ({ seconds, target }: { target: Target; seconds: number }) => {
  const ends = performance.now() + seconds * 1000;
  const health = new Samples();
  const failed: Record<string, number> = {};
  let chats = 0;
  const fail = (why: string) => {
    failed[why] = (failed[why] ?? 0) + 1;
  };
  const asksHealth = async () => {
    while (performance.now() < ends) {
      const startedAt = performance.now();
      const status = await send(target, { path: '/healthz' }, AbortSignal.timeout(TIMEOUT_MS));
      health.add(performance.now() - startedAt);
      if (status !== '200') fail(`/healthz ${status}`);
      await sleep(HEALTH_EVERY_MS);
    }
  };
  const chatsOn = async () => {
    const body = JSON.stringify({ message: 'What is the daily quota?' });
    while (performance.now() < ends) {
      const sent = { path: '/api/v1/chat', key: target.keys[0], body };
      const status = await send(target, sent, AbortSignal.timeout(TIMEOUT_MS));
      if (status === '200') chats += 1;
      else fail(`/chat ${status}`);
      await sleep(CHAT_EVERY_MS);
    }
  };
  await Promise.all([asksHealth(), chatsOn()]);
  const served: Served = { health: health.spread(), chats, failed };
  process.send?.(served);
});
process.send?.('ready');
