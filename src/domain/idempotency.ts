/** Requests that can be retried without a second charge. Contract section 10. */
import { createHash } from 'node:crypto';
import { digestOf, knownDigest } from '../bodies/digest.ts';
import { ApiError } from '../errors.ts';
import { WEB_KEY } from '../store/usage-history.ts';
import { holdsApiKey } from './api-key.ts';

/** Tells a retry from a different request. */
export type Retry = {
  /** The value of `Idempotency-Key`, or its digest if it contains an API key. */
  key: string;
  /** Of the endpoint and the body. */
  fingerprint: string;
  /** As earlier versions stored it, for the 24 hours after an update. Only for bodies that are cheap to serialize. */
  earlierFingerprint?: () => string;
};

/** JSON, or the events of a stream with status 200. */
export type StoredAnswer = { status: number; body: string };

/**
 * The credential that an idempotency key belongs to; `keyId` null is the web. Keys of different credentials never
 * collide.
 */
export const ownerOf = (keyId: string | null): string => keyId ?? WEB_KEY;

const sha256 = (endpoint: string, text: string): string =>
  createHash('sha256').update(endpoint).update('\n').update(text).digest('hex');

/**
 * SHA-256 of an endpoint (method and path) and a JSON body, in hex. The order of members does not matter. Takes linear
 * time for a body that was parsed in place.
 */
export const fingerprintOf = (endpoint: string, body: unknown): string => sha256(endpoint, digestOf(body));

/** Builds the `Retry` of a request with this `Idempotency-Key`. */
export const retryOf = (key: string, endpoint: string, body: unknown): Retry => ({
  // An API key sent by mistake is not stored in the clear.
  key: holdsApiKey(key) ? sha256('', key) : key,
  fingerprint: fingerprintOf(endpoint, body),
  ...(knownDigest(body) === undefined && {
    earlierFingerprint: () => sha256(endpoint, JSON.stringify(body)),
  }),
});

/** The error for an idempotency key that was used for another request. */
export const idempotencyMismatch = (): ApiError =>
  new ApiError('idempotencyMismatch', { param: 'idempotency-key' });

/**
 * The error of a request that our side failed to answer three times: it remains charged, and retries do not rerun it.
 */
export const retriesExhausted = (): ApiError =>
  new ApiError('internalError', {
    message:
      'The service failed three times to answer this request, which remains charged. Give the request id to the operator. To run it again, send it with a new `Idempotency-Key`; that is a new charge.',
    shouldRetry: false,
    charged: true,
  });

export const idempotencyInProgress = (): ApiError =>
  new ApiError('idempotencyInProgress', { param: 'idempotency-key' });
