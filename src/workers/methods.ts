/** What a worker asks the primary, and the primary a worker. Null stands for undefined, as in JSON. */

import type { SlotQueue } from '../concurrency/slots.ts';
import type { CallCeilings, FullLimit } from '../limits/call-counter.ts';
import type { WindowCount } from '../limits/memory-windows.ts';
import type { MetricSnapshot } from '../telemetry/metrics.ts';

/** `id` is unique in a worker. What a worker holds is released when it ends. */
export type PrimaryMethods = {
  takeWindow(key: string, windowMs: number): Promise<WindowCount>;
  takeBackWindow(key: string): Promise<void>;
  readWindow(key: string): Promise<WindowCount>;

  takeCall(id: string, accountId: string, isStream: boolean, ceilings: CallCeilings): FullLimit | null;
  releaseCall(id: string): void;

  /** Whether a slot was free, or became free. False if too many wait for one, or it was released meanwhile. */
  takeSlot(id: string, queue: SlotQueue, owner: string | null): Promise<boolean>;
  /** Also before the slot was taken. */
  releaseSlot(id: string): void;

  /** Whether the budget has room for a body that goes on. Reserves nothing. */
  hasRoom(body: string, sender: string, bytes: number): boolean;
  /** Reserves memory for received bytes. Returns whether there was room. */
  takeRoom(body: string, sender: string, bytes: number): boolean;
  releaseRoom(body: string): void;

  /** The metrics of all workers, in Prometheus's text format. */
  readMetrics(): Promise<string>;
  /** A load balancer asked a worker whether it is ready. */
  notePoll(): void;
  isReady(facts: ReadyFacts): void;
};

export type ReadyFacts = { port: number };

export type WorkerMethods = {
  snapshot(): Promise<MetricSnapshot>;
  /** `/readyz` answers 503 from now on. */
  drain(): void;
  stop(): void;
  reload(): void;
};
