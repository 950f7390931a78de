/** Errors that the service throws. Codes, messages, and headers come from the table in `schemas/errors.ts`. */
import type { Static } from '@sinclair/typebox';
import {
  type ErrorBody,
  type ErrorCode,
  errorTable,
  type HeaderFacts,
  headersOf,
} from '../schemas/errors.ts';
import {
  type MessagesError,
  type MessagesUnsupported,
  messagesErrorTypes,
} from '../schemas/messages-errors.ts';
import { type LimitReading, rateHeaders } from './rate-headers.ts';

type Body = Static<typeof ErrorBody>;

export type OpenAiEnvelope = { error: Body };
export type AnthropicEnvelope = MessagesError;
export type Envelope = OpenAiEnvelope | AnthropicEnvelope;

/** Details of one error in addition to its code. Clients see everything except `cause` and `isProvokable`. */
export type ErrorOptions = HeaderFacts & {
  /** Replaces the table's message. Never includes text from an upstream or the database. */
  message?: string;
  param?: string;
  details?: NonNullable<Body['details']>;
  /** Features of Anthropic's API that its SDKs can do without, as named in `MessagesUnsupported`. */
  unsupported?: Static<typeof MessagesUnsupported>;
  limit?: NonNullable<Body['limit']>;
  reason?: string;
  /** Whether the request remains charged. Omitted from the response if false. */
  charged?: boolean;
  /** Whether clients can provoke the failure at the operator's expense. Its refunds are limited. */
  isProvokable?: boolean;
  exceeded?: LimitReading;
  /** The cause for the log, never for the client. */
  cause?: unknown;
};

/** An error of contract section 6. Throw it anywhere below a route; `plugins/errors.ts` sends it. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly statusCode: number;
  readonly options: ErrorOptions;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    // Only an internal error needs its stack. The cause of any other error keeps its own. Under a flood of refusals,
    // collecting stacks took about a tenth of the CPU time.
    if (errorTable[code].status !== 500) Error.stackTraceLimit = 0;
    super(options.message ?? errorTable[code].message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.code = code;
    this.statusCode = errorTable[code].status;
    this.options = options;
  }

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

/** The URL of the error's page, or its path if `publicUrl` is empty. */
export const errorUrl = (publicUrl: string, code: ErrorCode): string => `${publicUrl}/docs/errors/${code}`;

/** The body of an error, contract section 6. `publicUrl` is for the link to the code's documentation. */
export function errorEnvelope(error: ApiError, requestId: string, publicUrl: string): OpenAiEnvelope {
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

/** The body of an error for clients of Anthropic's API. Contract section 14. */
export function anthropicEnvelope(error: ApiError, requestId: string, publicUrl: string): AnthropicEnvelope {
  const { param, request_id, type: _type, ...body } = errorEnvelope(error, requestId, publicUrl).error;
  const { unsupported } = error.options;
  return {
    type: 'error',
    error: {
      type: messagesErrorTypes[error.code],
      ...body,
      ...(param !== null && { param }),
      ...(unsupported && { details: unsupported }),
    },
    request_id,
  };
}

/** The error if the account was deleted after its credential was verified. `keyId` is null for the web. */
export const accountGone = (keyId: string | null): ApiError =>
  keyId === null ? new ApiError('sessionRequired') : new ApiError('apiKeyRevoked');
