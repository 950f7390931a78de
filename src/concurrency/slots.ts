/** A named queue: how many tasks of one kind may run at once, and how many may wait. */
import { BoundedQueue } from './bounded-queue.ts';

export type SlotQueue = { name: string; slots: number; waiting: number };

export interface Slots {
  /**
   * Takes a slot, or waits for one. An `owner` may use at most half of all slots and waiting positions.
   *
   * @throws ApiError `overloaded` at once if too many wait; the signal's reason
   * @returns a function that releases the slot, to call once
   */
  take(queue: SlotQueue, owner?: string | null, signal?: AbortSignal): Promise<() => void>;
}

/** The slots of this process. */
export class LocalSlots implements Slots {
  readonly #queues = new Map<string, { queue: BoundedQueue; users: number }>();

  take(
    { name, slots, waiting }: SlotQueue,
    owner: string | null = null,
    signal?: AbortSignal,
  ): Promise<() => void> {
    const named = this.#queues.get(name) ?? { queue: new BoundedQueue(slots, waiting), users: 0 };
    this.#queues.set(name, named);
    named.users += 1;
    return new Promise((resolve, reject) => {
      const held = () => new Promise<void>((release) => resolve(release));
      void named.queue
        .run(held, owner, signal)
        .catch(reject)
        .finally(() => {
          named.users -= 1;
          if (named.users === 0) this.#queues.delete(name);
        });
    });
  }
}
