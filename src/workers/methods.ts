/** The methods that the primary and a worker call on each other. Null represents undefined, as in JSON. */

import type { SlotQueue } from '../concurrency/slots.ts';
import type { CallCeilings, FullLimit } from '../limits/call-counter.ts';
import type { WindowCount } from '../limits/memory-windows.ts';
import type { MetricSnapshot } from '../telemetry/metrics.ts';

/** `id` is unique within a worker. When a worker ends, everything that it holds is released. */
export type PrimaryMethods = {
  takeWindow(key: string, windowMs: number): Promise<WindowCount>;
  takeBackWindow(key: string): Promise<void>;
  readWindow(key: string): Promise<WindowCount>;

  takeCall(id: string, accountId: string, isStream: boolean, ceilings: CallCeilings): FullLimit | null;
  releaseCall(id: string): void;

  /** Whether a slot was free or became free. False if too many wait, or the slot was released meanwhile. */
  takeSlot(id: string, queue: SlotQueue, owner: string | null): Promise<boolean>;
  /** Also cancels a wait for the slot. */
  releaseSlot(id: string): void;

  /** Whether the budget has room for a continued body. Reserves nothing. */
  hasRoom(body: string, sender: string, bytes: number): boolean;
  /** Reserves memory for received bytes. Returns whether they fit. */
  takeRoom(body: string, sender: string, bytes: number): boolean;
  releaseRoom(body: string): void;

  /** The metrics of all workers in Prometheus's text format. */
  readMetrics(): Promise<string>;
  /** Call it when a load balancer has polled a worker's readiness. */
  notePoll(): void;
  isReady(facts: ReadyFacts): void;
};

export type ReadyFacts = { port: number };

export type WorkerMethods = {
  snapshot(): Promise<MetricSnapshot>;
  /** From now on, `/readyz` returns 503. */
  drain(): void;
  stop(): void;
  reload(): void;
};
