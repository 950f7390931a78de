/**
 * Argon2id in libuv's threads, contract section 9. The queue is bounded: a flood of sign-ins must not delay the rest.
 */
import { hash, verify } from '@node-rs/argon2';
import { ApiError } from '../errors.ts';
import { Semaphore } from '../semaphore.ts';

/** Recommended by OWASP; `algorithm` 2 is Argon2id. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Of libuv's four threads; the others stay free for files and DNS lookups. */
const RUNNING_AT_ONCE = 2;
/** At 15 to 60 ms each, two at a time, the last in the queue waits for 0.5 to 2 seconds. */
const WAITING_AT_MOST = 64;

const overloaded = () => new ApiError('overloaded');

/** Runs a few tasks at once, and queues some in order. The rest are refused at once. */
export class BoundedQueue {
  readonly #slots: Semaphore;
  readonly #places = new Map<string, number>();
  readonly #placesOfOwner: number;

  constructor(runningAtOnce: number, waitingAtMost: number) {
    this.#slots = new Semaphore(runningAtOnce, waitingAtMost);
    this.#placesOfOwner = Math.floor((runningAtOnce + waitingAtMost) / 2);
  }

  /** An `owner` may take at most half of all places. Throws `overloaded` at once if too many wait. */
  async run<T>(task: () => Promise<T>, owner: string | null = null): Promise<T> {
    if (owner === null) return this.#run(task);
    const places = this.#places.get(owner) ?? 0;
    if (places >= this.#placesOfOwner) throw overloaded();
    this.#places.set(owner, places + 1);
    try {
      return await this.#run(task);
    } finally {
      const left = (this.#places.get(owner) ?? 1) - 1;
      if (left > 0) this.#places.set(owner, left);
      else this.#places.delete(owner);
    }
  }

  async #run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#slots.isFull) throw overloaded();
    return this.#slots.run(task);
  }
}

const queue = new BoundedQueue(RUNNING_AT_ONCE, WAITING_AT_MOST);

/** Keyboards and systems compose characters differently: NIST SP 800-63B. */
const normalised = (password: string) => password.normalize('NFKC');

/** Of a discarded random password, with the parameters above. */
export const unknownAccountHash =
  '$argon2id$v=19$m=19456,t=2,p=1$o7sbVpDlPCyrQIehiFMuOw$XYBgaDu9S6J5ibwuQB7XfhTiJfygbq1dYki6T9cCvvc';

/** Returns a PHC string. `owner` is the client's address, null for the operator. Throws `overloaded`. */
export const hashPassword = (password: string, owner: string | null = null): Promise<string> =>
  queue.run(() => hash(normalised(password), argon2Parameters), owner);

/** `stored` is null for an account that does not exist, which takes as long. Throws `overloaded`. */
export async function verifyPassword(
  stored: string | null,
  password: string,
  owner: string | null = null,
): Promise<boolean> {
  const isRight = await queue.run(() => verify(stored ?? unknownAccountHash, normalised(password)), owner);
  return stored !== null && isRight;
}
