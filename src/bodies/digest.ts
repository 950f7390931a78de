/** Digests for comparing JSON bodies regardless of formatting and member order. Contract section 10. */
import { createHash } from 'node:crypto';
import stringify from 'safe-stable-stringify';

const digests = new WeakMap<object, string>();

/** SHA-256 in hexadecimal, with members sorted by name at every depth. Takes linear time. */
export const canonicalDigest = (value: unknown): string =>
  createHash('sha256')
    .update(stringify(value) ?? '')
    .digest('hex');

/** Stores a body's digest, so that `digestOf` need not compute it on the event loop. */
export function rememberDigest(body: unknown, digest: string): void {
  if (typeof body === 'object' && body !== null) digests.set(body, digest);
}

/** Returns the digest that a worker computed, or undefined if the body was parsed in place. */
export const knownDigest = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null ? digests.get(body) : undefined;

export const digestOf = (body: unknown): string => knownDigest(body) ?? canonicalDigest(body);
