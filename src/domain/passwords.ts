/**
 * Passwords: Argon2id, contract section 9. The work runs in libuv's threads, off the event loop; how much of it
 * runs and waits is bounded, so that a flood of sign-ins delays neither other requests nor itself for long.
 */
import { hash, verify } from '@node-rs/argon2';
import { ApiError } from '../errors.ts';
import { Semaphore } from '../semaphore.ts';

/** One of the sets that OWASP recommends; `algorithm` 2 is Argon2id. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Of libuv's four threads by default; the others stay free for files and name look-ups. */
const RUNNING_AT_ONCE = 2;
/** At 15 to 60 ms each, two at a time, the last in the queue waits for half a second to two seconds. */
const WAITING_AT_MOST = 64;

const overloaded = () => new ApiError('overloaded');

/** Runs a few tasks at once and lets some wait, in order; the rest are refused at once. */
export class BoundedQueue {
  readonly #slots: Semaphore;
  /** Of each owner that has any, how many run or wait. */
  readonly #places = new Map<string, number>();
  readonly #placesOfOwner: number;

  constructor(runningAtOnce: number, waitingAtMost: number) {
    this.#slots = new Semaphore(runningAtOnce, waitingAtMost);
    this.#placesOfOwner = Math.floor((runningAtOnce + waitingAtMost) / 2);
  }

  /**
   * Runs a task when its turn comes.
   *
   * @param owner - whoever may take half of all places at most; null for nobody
   * @throws ApiError `overloaded`, at once, when too many wait already; whatever the task throws
   */
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

/** The same password can reach us composed or decomposed, by keyboard and system: NIST SP 800-63B. */
const normalised = (password: string) => password.normalize('NFKC');

/** Of a random password that was thrown away, by the parameters above. */
export const unknownAccountHash =
  '$argon2id$v=19$m=19456,t=2,p=1$o7sbVpDlPCyrQIehiFMuOw$XYBgaDu9S6J5ibwuQB7XfhTiJfygbq1dYki6T9cCvvc';

/**
 * Hashes a new password.
 *
 * @param owner - the address that asks, which gets half of the queue at most; null for the operator
 * @returns a PHC string: parameters, salt and hash
 * @throws ApiError `overloaded`
 */
export const hashPassword = (password: string, owner: string | null = null): Promise<string> =>
  queue.run(() => hash(normalised(password), argon2Parameters), owner);

/**
 * Whether a password is the one that was hashed.
 *
 * @param stored - what `hashPassword` returned; null for an account that does not exist, which takes as long
 * @param owner - the address that asks, which gets half of the queue at most; null for nobody's
 * @throws ApiError `overloaded`
 */
export async function verifyPassword(
  stored: string | null,
  password: string,
  owner: string | null = null,
): Promise<boolean> {
  const isRight = await queue.run(() => verify(stored ?? unknownAccountHash, normalised(password)), owner);
  return stored !== null && isRight;
}
