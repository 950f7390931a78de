/** Errors as they are thrown: codes, sentences and headers come from the one table in `schemas/errors.ts`. */
import type { Static } from '@sinclair/typebox';
import {
  type ErrorBody,
  type ErrorCode,
  errorTable,
  type HeaderFacts,
  headersOf,
} from '../schemas/errors.ts';
import { type LimitReading, rateHeaders } from './rate-headers.ts';

type Body = Static<typeof ErrorBody>;

/** Every error's body. */
export type Envelope = { error: Body };

/** What an error may say beyond its code. All but `cause` and `isProvokable` reaches the client. */
export type ErrorOptions = HeaderFacts & {
  /** A better sentence than the table's. Never built from an upstream's or the database's words. */
  message?: string;
  param?: string;
  details?: NonNullable<Body['details']>;
  limit?: NonNullable<Body['limit']>;
  reason?: string;
  /** Whether the request stays charged; nothing is said where it does not. */
  charged?: boolean;
  /** Whether a client can bring the failure about on purpose, at the operator's expense: refunds of it are limited. */
  isProvokable?: boolean;
  /** The limit that refused, for the rate headers and `Retry-After`. */
  exceeded?: LimitReading;
  /** What really happened: for the log, never for the client. */
  cause?: unknown;
};

/**
 * An error of the contract's section 6. Throw it anywhere below a route; `plugins/errors.ts` answers it.
 *
 * @param code - a code of the table, which decides the status and `type`
 * @param options - what this occurrence adds
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
  readonly options: ErrorOptions;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(options.message ?? errorTable[code].message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.statusCode = errorTable[code].status;
    this.options = options;
  }

  /** The response headers: those of the table, and for a limit those that describe it. */
  get headers(): Record<string, string> {
    const { exceeded, retryAfterSeconds = exceeded?.resetSeconds } = this.options;
    const facts = { ...this.options, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    const made = Object.entries(headersOf(this.code)).flatMap(([name, header]) => {
      const value = typeof header === 'string' ? header : header(facts);
      return value === undefined ? [] : [[name, value]];
    });
    return { ...(exceeded && rateHeaders(exceeded)), ...Object.fromEntries(made) };
  }
}

/** The address of the page about a code; a path where `publicUrl` is empty. */
export const errorUrl = (publicUrl: string, code: ErrorCode): string => `${publicUrl}/docs/errors/${code}`;

/**
 * The envelope of contract section 6.
 *
 * @param error - what to tell
 * @param requestId - repeated in `X-Request-Id`
 * @param publicUrl - the origin of the service, for the link to the code's explanation
 */
export function errorEnvelope(error: ApiError, requestId: string, publicUrl: string): Envelope {
  const { charged, details, limit, param, reason } = error.options;
  return {
    error: {
      code: error.code,
      message: error.message,
      type: errorTable[error.code].type,
      param: param ?? null,
      request_id: requestId,
      docs: errorUrl(publicUrl, error.code),
      ...(details && { details }),
      ...(limit && { limit }),
      ...(reason && { reason }),
      ...(charged && { charged }),
    },
  };
}
