/**
 * Passwords: Argon2id, contract section 9. The work runs in libuv's threads, off the event loop; how much of it
 * runs and waits is bounded, so that a flood of sign-ins delays neither other requests nor itself for long.
 */
import { hash, verify } from '@node-rs/argon2';
import { ApiError } from '../errors.ts';

/** One of the sets that OWASP recommends; `algorithm` 2 is Argon2id. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Of libuv's four threads by default; the others stay free for files and name look-ups. */
const RUNNING_AT_ONCE = 2;
/** At 15 to 60 ms each, two at a time, the last in the queue waits for a quarter of a second to a second. */
const WAITING_AT_MOST = 32;

/** Runs a few tasks at once and lets some wait, in order; the rest are refused at once. */
export class BoundedQueue {
  readonly #waitingAtMost: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(runningAtOnce: number, waitingAtMost: number) {
    this.#free = runningAtOnce;
    this.#waitingAtMost = waitingAtMost;
  }

  /**
   * Runs a task when its turn comes.
   *
   * @throws ApiError `overloaded`, at once, when too many wait already; whatever the task throws
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else if (this.#waiting.length < this.#waitingAtMost)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else throw new ApiError('overloaded', { headers: { 'retry-after': '1' } });
    try {
      return await task();
    } finally {
      // The place passes to the next in line without becoming free in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
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
 * @returns a PHC string: parameters, salt and hash
 * @throws ApiError `overloaded`
 */
export const hashPassword = (password: string): Promise<string> =>
  queue.run(() => hash(normalised(password), argon2Parameters));

/**
 * Whether a password is the one that was hashed.
 *
 * @param stored - what `hashPassword` returned; null for an account that does not exist, which takes as long
 * @throws ApiError `overloaded`
 */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  const isRight = await queue.run(() => verify(stored ?? unknownAccountHash, normalised(password)));
  return stored !== null && isRight;
}
