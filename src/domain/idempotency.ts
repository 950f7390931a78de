/** Requests that may be made again without being charged again. Contract section 10. */
import { createHash } from 'node:crypto';
import { digestOf, knownDigest } from '../bodies/digest.ts';
import { ApiError } from '../errors.ts';
import { WEB_KEY } from '../store/usage-history.ts';
import { holdsApiKey } from './api-key.ts';

/** What tells a repeated request from another one. */
export type Retry = {
  /** The value of `Idempotency-Key`; a digest of one that holds an API key. */
  key: string;
  /** Of the endpoint and the body. */
  fingerprint: string;
  /** The same as earlier versions stored it, for the 24 hours after an update. Only of bodies that are cheap to write. */
  earlierFingerprint?: () => string;
};

/** What was answered: JSON, or with status 200 for a stream its events. */
export type StoredAnswer = { status: number; body: string };

/**
 * The credential that an idempotency key belongs to: values of others do not meet it.
 *
 * @param keyId - null for the web
 */
export const ownerOf = (keyId: string | null): string => keyId ?? WEB_KEY;

const sha256 = (endpoint: string, text: string): string =>
  createHash('sha256').update(endpoint).update('\n').update(text).digest('hex');

/**
 * SHA-256 of an endpoint and a body, in hexadecimal. Members count in the order of their names, at every depth, so that
 * the same JSON has one fingerprint however it is spelled. Takes time in proportion to a body that was parsed in place.
 *
 * @param endpoint - method and path
 * @param body - parsed JSON
 */
export const fingerprintOf = (endpoint: string, body: unknown): string => sha256(endpoint, digestOf(body));

/**
 * What tells a repeated request from another one.
 *
 * @param key - the value of `Idempotency-Key`
 */
export const retryOf = (key: string, endpoint: string, body: unknown): Retry => ({
  // An API key that was sent by mistake is not kept in the clear.
  key: holdsApiKey(key) ? sha256('', key) : key,
  fingerprint: fingerprintOf(endpoint, body),
  ...(knownDigest(body) === undefined && {
    earlierFingerprint: () => sha256(endpoint, JSON.stringify(body)),
  }),
});

/** The refusal of a request whose idempotency key was used for another one. */
export const idempotencyMismatch = (): ApiError =>
  new ApiError('idempotencyMismatch', { param: 'idempotency-key' });

/** The end of a request that our side failed to answer three times: it stays charged, and no retry runs it again. */
export const retriesExhausted = (): ApiError =>
  new ApiError('internalError', {
    message:
      'The service failed three times to answer this request, which remains charged. Give the request id to the operator. To run it again, send it with a new `Idempotency-Key`; that is a new charge.',
    shouldRetry: false,
    charged: true,
  });

/** The refusal of a request that is being answered already. */
export const idempotencyInProgress = (): ApiError =>
  new ApiError('idempotencyInProgress', { param: 'idempotency-key' });
