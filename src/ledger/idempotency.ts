/** Lets clients retry a request without a second charge. Contract section 10. */
import { createHash } from 'node:crypto';
import { digestOf, knownDigest } from '../bodies/digest.ts';
import { holdsApiKey } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';
import { WEB_KEY } from '../store/usage-history.ts';

export type Retry = {
  /** The value of `Idempotency-Key`, or its digest if it contains an API key. */
  key: string;
  fingerprint: string;
  /** The fingerprint of earlier versions, for 24 hours after an update. Only for bodies that are cheap to serialize. */
  earlierFingerprint?: () => string;
};

/** The stored response. `body` is JSON, or the events of a stream with status 200. */
export type StoredAnswer = { status: number; body: string };

/** The owner of an idempotency key. Equal keys of different credentials never collide. */
export const ownerOf = (keyId: string | null): string => keyId ?? WEB_KEY;

const sha256 = (endpoint: string, text: string): string =>
  createHash('sha256').update(endpoint).update('\n').update(text).digest('hex');

/** SHA-256 of method, path, and body, in hex. Ignores the order of members. Linear for bodies parsed in place. */
export const fingerprintOf = (endpoint: string, body: unknown): string => sha256(endpoint, digestOf(body));

/** The form in which Parley stores an `Idempotency-Key`. Hashes an API key that was sent by mistake. */
export const idempotencyKeyOf = (key: string): string => (holdsApiKey(key) ? sha256('', key) : key);

export const retryOf = (key: string, endpoint: string, body: unknown): Retry => ({
  key: idempotencyKeyOf(key),
  fingerprint: fingerprintOf(endpoint, body),
  ...(knownDigest(body) === undefined && {
    earlierFingerprint: () => sha256(endpoint, JSON.stringify(body)),
  }),
});

export const idempotencyMismatch = (): ApiError =>
  new ApiError('idempotencyMismatch', { param: 'idempotency-key' });

/** The error after our side failed three times. The request remains charged, and retries do not rerun it. */
export const retriesExhausted = (): ApiError =>
  new ApiError('internalError', {
    message:
      'The service could not complete this request after three attempts. The request remains charged. Send the request ID to the operator. To try again, use a new `Idempotency-Key`; you will be charged again.',
    shouldRetry: false,
    charged: true,
  });

export const idempotencyInProgress = (): ApiError =>
  new ApiError('idempotencyInProgress', { param: 'idempotency-key' });
