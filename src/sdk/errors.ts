import type { components } from './schema.d.ts';

type Envelope = components['schemas']['ErrorBody'];

/** The service's error codes. The guide "Errors" describes each code. */
export type ErrorCode = Envelope['code'];

/**
 * The SDK's error codes. `connectionFailed`: no complete response arrived. `unreadableAnswer`: the response is not from
 * the service, but, for example, from a proxy.
 */
export type OwnErrorCode = 'connectionFailed' | 'unreadableAnswer';

type Details = {
  code: ErrorCode | OwnErrorCode;
  message: string;
  status?: number;
  envelope?: Partial<Envelope> | undefined;
  headers?: Headers | undefined;
  cause?: unknown;
};

export class ParleyError extends Error {
  override readonly name = 'ParleyError';
  /** Handle errors by this code. The service can add codes: handle unknown codes by status. */
  readonly code: ErrorCode | OwnErrorCode;
  /** The HTTP status. 0 without a response. */
  readonly status: number;
  /** The request ID, for questions to the operator. Null without a response. */
  readonly requestId: string | null;
  /** The invalid field. Null if none is named. */
  readonly param: string | null;
  /** All validation errors. */
  readonly details: NonNullable<Envelope['details']>;
  /** The exceeded limit: its name, maximum, and reset time. */
  readonly limit: Envelope['limit'];
  /** A more specific code if the model rejected the input. Null otherwise. */
  readonly reason: string | null;
  /** Whether the request remains charged although it failed. */
  readonly isCharged: boolean;
  /** The URL of the page about this code. Null without a response from the service. */
  readonly docs: string | null;
  /** Seconds to wait before a retry. Null if the service sent none. */
  readonly retryAfter: number | null;

  constructor({ code, message, status = 0, envelope = {}, headers, cause }: Details) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = envelope.request_id ?? headers?.get('x-request-id') ?? null;
    this.param = envelope.param ?? null;
    this.details = envelope.details ?? [];
    this.limit = envelope.limit;
    this.reason = envelope.reason ?? null;
    this.isCharged = envelope.charged === true;
    this.docs = envelope.docs ?? null;
    this.retryAfter = retryAfterOf(headers);
  }

  /** Whether a retry may succeed. */
  get isTransient(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** The seconds in `Retry-After`. Null if the header is missing or contains a date. */
export function retryAfterOf(headers: Headers | undefined): number | null {
  const value = headers?.get('retry-after') ?? '';
  return /^\d+$/.test(value) ? Number(value) : null;
}

/** Converts an error response. A body without the service's envelope becomes `unreadableAnswer`. */
export function errorOf(response: Response, body: unknown): ParleyError {
  const { headers, status } = response;
  const envelope = (body as { error?: Envelope } | null | undefined)?.error;
  if (typeof envelope?.code === 'string')
    return new ParleyError({ code: envelope.code, message: envelope.message, status, envelope, headers });
  const message = `The response (${status}) did not come from Parley. A proxy may have answered instead.`;
  return new ParleyError({ code: 'unreadableAnswer', message, status, headers });
}

export function connectionFailed(cause: unknown): ParleyError {
  const message = 'The service cannot be reached, or the connection closed before the response was complete.';
  return new ParleyError({ code: 'connectionFailed', message, cause });
}
