import { ApiError } from '../errors.ts';
import { Semaphore } from './semaphore.ts';

const overloaded = () => new ApiError('overloaded');

/** Runs a few tasks at once, queues some in order, and rejects the rest immediately. */
export class BoundedQueue {
  readonly #slots: Semaphore;
  readonly #slotsByOwner = new Map<string, number>();
  readonly #slotsPerOwner: number;

  constructor(runningAtOnce: number, waitingAtMost: number) {
    this.#slots = new Semaphore(runningAtOnce, waitingAtMost);
    this.#slotsPerOwner = Math.floor((runningAtOnce + waitingAtMost) / 2);
  }

  /** An `owner` may use half of all places. Throws `overloaded` at once if too many wait, or `signal`'s reason. */
  async run<T>(task: () => Promise<T>, owner: string | null = null, signal?: AbortSignal): Promise<T> {
    if (owner === null) return this.#run(task, signal);
    const slots = this.#slotsByOwner.get(owner) ?? 0;
    if (slots >= this.#slotsPerOwner) throw overloaded();
    this.#slotsByOwner.set(owner, slots + 1);
    try {
      return await this.#run(task, signal);
    } finally {
      const left = (this.#slotsByOwner.get(owner) ?? 1) - 1;
      if (left > 0) this.#slotsByOwner.set(owner, left);
      else this.#slotsByOwner.delete(owner);
    }
  }

  async #run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#slots.isFull) throw overloaded();
    return this.#slots.run(task, signal);
  }
}
