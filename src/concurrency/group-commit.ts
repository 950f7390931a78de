/** Runs one write, or read, at a time. Items that arrive meanwhile share the next one. A single item does not wait. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../errors.ts';

type Waiting<Item, Result> = {
  item: Item;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (error: unknown) => void;
};

export type GroupCommitOptions<Item, Result> = {
  /** One transaction. Returns one result per item, in order. The next write does not wait for promises in it. */
  write: (items: Item[]) => Promise<(Result | Promise<Result>)[]>;
  batchSize: number;
  /** The most bytes per write, as measured by `sizeOf`. A larger item is written alone. */
  batchBytes?: number;
  sizeOf?: (item: Item) => number;
  queueSize: number;
};

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  readonly #queue: Waiting<Item, Result>[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  /** Resolves once the write is committed. Throws `overloaded` at once if too many wait, or the write's error. */
  submit(item: Item): Promise<Result> {
    if (this.#queue.length >= this.#options.queueSize) {
      return Promise.reject(new ApiError('overloaded'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  async idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

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
      // Include items that have arrived on sockets meanwhile.
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
