/** Writes common batches. An account that blocks one gets its own queue until it is idle. Contract section 5. */

import { GroupCommit } from '../concurrency/group-commit.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { isUnavailable, sqlState } from '../database/client.ts';
import { ApiError } from '../errors.ts';

/** The longest wait for a lock in a common batch. One locked row delays the batch by this much, once. */
const COMMON_LOCK_TIMEOUT_MS = 200;
/** The longest wait for a lock in an account's own queue. */
const OWN_LOCK_TIMEOUT_MS = 2000;

const BATCH_SIZE = 256;
const BATCH_BYTES = 1024 * 1024;
/** An item larger than this goes to its account's queue, because it takes as long as thousands of others. */
const LARGE_BYTES = 256 * 1024;
const QUEUE_SIZE = 20_000;

const lockStates = new Set(['55P03', '40P01']);
/** The database's SQLSTATE. Empty for an ApiError, which is already the final result. */
const stateOf = (error: unknown) => (error instanceof ApiError ? '' : (sqlState(error) ?? ''));
const isLockFailure = (error: unknown) => lockStates.has(stateOf(error));
/** Whether the database rejected the batch because of an item in it. */
export const isRefusal = (error: unknown) => /^[0-9A-Z]{5}$/.test(stateOf(error)) && !isUnavailable(error);

export type AccountItem = { account_id: string };

/** Writes a batch and returns one result per item, in order. */
export type WriteBatch<Item, Result> = (items: Item[], lockTimeoutMs: number) => Promise<Result[]>;

export class AccountQueues<Item extends AccountItem, Result> {
  readonly #write: WriteBatch<Item, Result>;
  readonly #sizeOf: (item: Item) => number;
  readonly #common: GroupCommit<Item, Result>;
  readonly #queues = new Map<string, GroupCommit<Item, Result>>();
  readonly #semaphore: Semaphore;

  /** @param queuesAtOnce - queues that may write at once: connections are scarce, and common batches need one */
  constructor(
    write: WriteBatch<Item, Result>,
    queuesAtOnce: number,
    sizeOf: (item: Item) => number = () => 0,
  ) {
    this.#write = write;
    this.#semaphore = new Semaphore(queuesAtOnce);
    this.#sizeOf = sizeOf;
    this.#common = this.#groupCommit((items) => this.#writeCommon(items));
  }

  /** @throws ApiError `overloaded` if too many wait; `serviceUnavailable` if the account stays locked */
  submit(item: Item): Promise<Result> {
    const queue = this.#queues.get(item.account_id);
    if (queue !== undefined) return queue.submit(item);
    return this.#sizeOf(item) > LARGE_BYTES
      ? this.#queueOf(item.account_id).submit(item)
      : this.#common.submit(item);
  }

  async idle(): Promise<void> {
    await this.#common.idle();
    await Promise.all([...this.#queues.values()].map((queue) => queue.idle()));
  }

  async #writeCommon(items: Item[]): Promise<(Result | Promise<Result>)[]> {
    // Earlier items of these accounts are in the accounts' queues by now.
    const queued = items.map((item) => this.#queues.get(item.account_id)?.submit(item));
    const others = items.filter((_, index) => queued[index] === undefined);
    const written = others.length === 0 ? [] : await this.#writeOthers(others);
    const rest = written[Symbol.iterator]();
    return queued.map((result) => result ?? (rest.next().value as Result | Promise<Result>));
  }

  async #writeOthers(items: Item[]): Promise<(Result | Promise<Result>)[]> {
    try {
      return await this.#write(items, COMMON_LOCK_TIMEOUT_MS);
    } catch (error) {
      // The batch wrote nothing. Separate queues show which account is at fault.
      if (isLockFailure(error) || isRefusal(error))
        return items.map((item) => this.#queueOf(item.account_id).submit(item));
      throw error;
    }
  }

  #groupCommit = (write: (items: Item[]) => Promise<(Result | Promise<Result>)[]>) =>
    new GroupCommit<Item, Result>({
      write,
      batchSize: BATCH_SIZE,
      batchBytes: BATCH_BYTES,
      sizeOf: this.#sizeOf,
      queueSize: QUEUE_SIZE,
    });

  #queueOf(accountId: string): GroupCommit<Item, Result> {
    const known = this.#queues.get(accountId);
    if (known !== undefined) return known;
    const queue = this.#groupCommit((items) => this.#semaphore.run(() => this.#writeOwn(items)));
    this.#queues.set(accountId, queue);
    // When idle, the account rejoins the common batches.
    queueMicrotask(() => {
      void queue.idle().then(() => this.#queues.delete(accountId));
    });
    return queue;
  }

  async #writeOwn(items: Item[]): Promise<(Result | Promise<Result>)[]> {
    try {
      return await this.#write(items, OWN_LOCK_TIMEOUT_MS);
    } catch (error) {
      if (isLockFailure(error)) {
        throw new ApiError('serviceUnavailable', { retryAfterSeconds: 2, cause: error });
      }
      if (!isRefusal(error) || items.length === 1) throw error;
      return this.#oneByOne(items);
    }
  }

  /** If the database becomes unavailable, the remaining items fail at once. Otherwise each would wait for a timeout. */
  async #oneByOne(items: Item[]): Promise<Promise<Result>[]> {
    const results: Promise<Result>[] = [];
    let isOver = false;
    for (const item of items) {
      const result: Promise<Result> = isOver
        ? (results.at(-1) as Promise<Result>)
        : this.#write([item], OWN_LOCK_TIMEOUT_MS).then(([only]) => only as Result);
      results.push(result);
      await result.catch((error) => {
        isOver = !isRefusal(error);
      });
    }
    return results;
  }
}
