/** Limits that the primary counts for all workers. If the primary has exited, a worker counts alone and shuts down. */

import type { SlotQueue, Slots } from '../concurrency/slots.ts';
import { newId } from '../domain/ids.ts';
import { ApiError } from '../errors.ts';
import type { CallCeilings, FullLimit } from '../limits/call-counter.ts';
import type { SharedCalls } from '../limits/calls.ts';
import { MemoryWindows, type WindowCount, type Windows } from '../limits/memory-windows.ts';
import type { Channel } from './channel.ts';
import type { PrimaryMethods } from './methods.ts';

type Primary = Channel<PrimaryMethods>;

export class SharedWindows implements Windows {
  readonly #primary: Primary;
  readonly #own = new MemoryWindows();

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  async take(key: string, windowMs: number): Promise<WindowCount> {
    return (await this.#primary.ask('takeWindow', key, windowMs)) ?? this.#own.take(key, windowMs);
  }

  async takeBack(key: string): Promise<void> {
    await this.#primary.ask('takeBackWindow', key);
  }

  async read(key: string): Promise<WindowCount> {
    return (await this.#primary.ask('readWindow', key)) ?? this.#own.read(key);
  }
}

export class WorkerCalls implements SharedCalls {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  async take(accountId: string, id: string, isStream: boolean, ceilings: CallCeilings) {
    return (await this.#primary.ask('takeCall', id, accountId, isStream, ceilings)) as FullLimit | undefined;
  }

  release(_accountId: string, id: string): void {
    this.#primary.notify('releaseCall', id);
  }
}

export class SharedSlots implements Slots {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  async take(queue: SlotQueue, owner: string | null = null, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const id = newId();
    const release = () => this.#primary.notify('releaseSlot', id);
    signal?.addEventListener('abort', release, { once: true });
    const isTaken = await this.#primary.ask('takeSlot', id, queue, owner);
    signal?.removeEventListener('abort', release);
    // The primary may have granted the slot before it learned of the abort.
    signal?.throwIfAborted();
    if (isTaken === false) throw new ApiError('overloaded');
    return release;
  }
}
