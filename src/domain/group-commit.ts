/**
 * Group commit: one write at a time, and what arrives while it is under way goes together in the next. Under load a
 * write carries many items and its cost is shared; alone, an item waits for nobody.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../errors.ts';

type Waiting<Item, Result> = {
  item: Item;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (error: unknown) => void;
};

export type GroupCommitOptions<Item, Result> = {
  /**
   * Writes a batch, in one transaction; one result an item, in order. A result may be a promise where an item has been
   * sent elsewhere: the next write does not wait for it. What it throws fails the whole batch.
   */
  write: (items: Item[]) => Promise<(Result | Promise<Result>)[]>;
  /** Most items in one write. */
  batchSize: number;
  /** Most bytes in one write, by `sizeOf`; an item that is larger goes alone. */
  batchBytes?: number;
  sizeOf?: (item: Item) => number;
  /** Most items that wait; beyond it they are refused at once instead of growing the queue. */
  queueSize: number;
};

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  readonly #queue: Waiting<Item, Result>[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  /**
   * Puts an item into the next write.
   *
   * @returns its result, once the write is committed
   * @throws ApiError `overloaded` at once when too many wait already; what the write throws
   */
  submit(item: Item): Promise<Result> {
    if (this.#queue.length >= this.#options.queueSize) {
      return Promise.reject(new ApiError('overloaded'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves once nothing waits and nothing is being written. */
  async idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** How many of those that wait go in the next write. */
  #nextCount(): number {
    const { batchBytes = Number.POSITIVE_INFINITY, batchSize, sizeOf = () => 0 } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#queue) {
      bytes += sizeOf(item);
      if (count > 0 && (count === batchSize || bytes > batchBytes)) break;
      count += 1;
    }
    return count;
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0) {
      // What has arrived in the sockets meanwhile goes along: the embedded database lets nothing be read while it writes.
      await nextTurn();
      const batch = this.#queue.splice(0, this.#nextCount());
      try {
        const results = await this.#options.write(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = undefined;
  }
}
