/**
 * Argon2id in libuv's threads, contract section 9. The queue is bounded, so a flood of sign-ins cannot delay the rest.
 */
import { hash, verify } from '@node-rs/argon2';
import { LocalSlots, type Slots } from '../concurrency/slots.ts';

/** OWASP's recommendation. `algorithm` 2 is Argon2id. */
export const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** How many of libuv's four threads hash at once. The others stay free for files and DNS lookups. */
const RUNNING_AT_ONCE = 2;
/** At 15 to 60 ms each, two at a time, the last in the queue waits for 0.5 to 2 seconds. */
const MAX_WAITING = 64;

const queue = { name: 'hash', slots: RUNNING_AT_ONCE, waiting: MAX_WAITING };
let slots: Slots = new LocalSlots();

/** Replaces the queue for a process that shares its processors with other hashing processes. */
export function queueHashesWith(shared: Slots): void {
  slots = shared;
}

async function runQueued<T>(task: () => Promise<T>, owner: string | null): Promise<T> {
  const release = await slots.take(queue, owner);
  try {
    return await task();
  } finally {
    release();
  }
}

/** Keyboards and systems compose characters differently (NIST SP 800-63B). */
const normalized = (password: string) => password.normalize('NFKC');

/** The hash of a discarded random password, with the parameters above. */
export const unknownAccountHash =
  '$argon2id$v=19$m=19456,t=2,p=1$o7sbVpDlPCyrQIehiFMuOw$XYBgaDu9S6J5ibwuQB7XfhTiJfygbq1dYki6T9cCvvc';

/** Returns a PHC string. `owner` is the client's address, null for the operator. Throws ApiError `overloaded`. */
export const hashPassword = (password: string, owner: string | null = null): Promise<string> =>
  runQueued(() => hash(normalized(password), argon2Parameters), owner);

/** `stored` is null if the account does not exist; the check then takes equally long. Throws ApiError `overloaded`. */
export async function verifyPassword(
  stored: string | null,
  password: string,
  owner: string | null = null,
): Promise<boolean> {
  const isRight = await runQueued(() => verify(stored ?? unknownAccountHash, normalized(password)), owner);
  return stored !== null && isRight;
}
