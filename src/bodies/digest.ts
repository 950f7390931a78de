/** What tells one JSON body from another, however each is spelled. Contract section 10. */
import { createHash } from 'node:crypto';
import stringify from 'safe-stable-stringify';

/** Digests that a worker made, by the body that it parsed. */
const digests = new WeakMap<object, string>();

/** SHA-256, in hexadecimal, of JSON whose members are in the order of their names at every depth. Takes time in proportion to it. */
export const canonicalDigest = (value: unknown): string =>
  createHash('sha256')
    .update(stringify(value) ?? '')
    .digest('hex');

/** Remembers the digest of a body, so that `digestOf` does not make it on the event loop. */
export function rememberDigest(body: unknown, digest: string): void {
  if (typeof body === 'object' && body !== null) digests.set(body, digest);
}

/** The digest that a worker made of a body; undefined where the body was parsed in place. */
export const knownDigest = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null ? digests.get(body) : undefined;

/** The canonical digest of a body. */
export const digestOf = (body: unknown): string => knownDigest(body) ?? canonicalDigest(body);
