/** What went wrong, as people are told: the service's envelope, or that there was no answer. */
import type { components } from './schema.d.ts';

type Envelope = components['schemas']['ErrorBody'];

/** No answer came (`offline`, `unreachable`), or one that is none of the service's (`unreadable`). */
type OwnCode = 'offline' | 'unreachable' | 'unreadable';
export type ProblemCode = Envelope['code'] | OwnCode;

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  /** 0 where no answer came. */
  readonly status: number;
  /** What to give to the operator; null where the service never saw the request. */
  readonly requestId: string | null;
  /** The field at fault. */
  readonly param: string | null;
  /** The limit that refused, and when it resets. */
  readonly limit: Envelope['limit'];
  /** The section of the guides on this code. */
  readonly docs: string | null;

  constructor(code: ProblemCode, message: string, status: number, envelope?: Partial<Envelope>) {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = envelope?.request_id ?? null;
    this.param = envelope?.param ?? null;
    this.limit = envelope?.limit;
    this.docs = envelope?.docs ?? null;
  }

  /** Whether the same request may well succeed a moment later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

/** @param error - the parsed body of an answer that is no success */
export function fromAnswer(response: Response, error: unknown): Problem {
  const envelope = (error as { error?: Envelope } | undefined)?.error;
  if (typeof envelope?.code === 'string')
    return new Problem(envelope.code, envelope.message, response.status, envelope);
  return new Problem(
    'unreadable',
    `Something between this page and the service answered with ${response.status}. Try again in a moment.`,
    response.status,
    { request_id: response.headers.get('x-request-id') ?? undefined } as Partial<Envelope>,
  );
}

/** @param cause - what `fetch` rejected with; an abort stays what it is */
export function unreachable(cause: unknown): unknown {
  if (cause instanceof DOMException && cause.name === 'AbortError') return cause;
  return navigator.onLine
    ? new Problem('unreachable', 'The service cannot be reached right now. Try again in a moment.', 0)
    : new Problem('offline', 'You are offline. Connect to a network, then try again.', 0);
}

/** Whatever was thrown, as a problem. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('unreadable', 'Something went wrong in this page. Reload it and try again.', 0);
}
