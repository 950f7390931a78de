/** Everything that can go wrong, as one class with a code to decide by. */
import type { components } from './schema.d.ts';

type Envelope = components['schemas']['ErrorBody'];

/** The codes of the service: the guide "Errors" has a section on each. */
export type ErrorCode = Envelope['code'];

/**
 * The SDK's own: no answer came, or not to its end (`connectionFailed`), or one that is none of the service's, such as a
 * proxy's page (`unreadableAnswer`).
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
  /** Decide by this. The service may have codes that are newer than this SDK: treat an unknown one by its status. */
  readonly code: ErrorCode | OwnErrorCode;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  /** What to give to the operator; null where the service did not answer. */
  readonly requestId: string | null;
  /** The field at fault. */
  readonly param: string | null;
  /** Each fault that validation found. */
  readonly details: NonNullable<Envelope['details']>;
  /** The limit that refused, its ceiling, and when it resets. */
  readonly limit: Envelope['limit'];
  /** A finer code where the model refused the input. */
  readonly reason: string | null;
  /** Whether the request stays charged although it failed. */
  readonly isCharged: boolean;
  /** The page about this code. */
  readonly docs: string | null;
  /** Seconds after which another attempt makes sense; null where the service named none. */
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

  /** Whether the same request may well succeed a moment later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** The seconds of `Retry-After`; null where there is none, or a date. */
export function retryAfterOf(headers: Headers | undefined): number | null {
  const value = headers?.get('retry-after') ?? '';
  return /^\d+$/.test(value) ? Number(value) : null;
}

/**
 * The error that an answer is.
 *
 * @param body - of the answer, parsed where it is JSON
 */
export function errorOf(response: Response, body: unknown): ParleyError {
  const { headers, status } = response;
  const envelope = (body as { error?: Envelope } | null | undefined)?.error;
  if (typeof envelope?.code === 'string')
    return new ParleyError({ code: envelope.code, message: envelope.message, status, envelope, headers });
  const message = `The response (${status}) did not come from Parley. A proxy may have answered instead.`;
  return new ParleyError({ code: 'unreadableAnswer', message, status, headers });
}

/** @param cause - what `fetch`, or reading its answer, rejected with */
export function connectionFailed(cause: unknown): ParleyError {
  const message = 'The service cannot be reached, or the connection closed before the response was complete.';
  return new ParleyError({ code: 'connectionFailed', message, cause });
}
