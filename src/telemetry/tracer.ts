/** The service's interface for spans, independent of the recorder. Contract section 17. */
import type { Trace } from './tracing.ts';

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export type Span = {
  /** The context for parts of the span and for requests to other services. */
  readonly trace: Trace;
  /** Sets attributes. Ignores undefined ones. */
  set(attributes: Attributes): void;
  /** Records an event at a time within the span. */
  event(name: string): void;
  /** @param error - a code or a status, never a message */
  fail(error: string): void;
  /** Ends the span. Call it once. */
  end(): void;
};

/** `server`: a request to this service. `client`: a request from this service to another. */
export type SpanKind = 'server' | 'client';

export type Tracer = {
  start(kind: SpanKind, name: string, trace: Trace, attributes: Attributes): Span;
  /** Reports export problems, at most one per minute. */
  reportTo(log: { warn(message: string): void }): void;
  /** Exports remaining spans, or gives up after a few seconds. Never rejects. */
  stop(): Promise<void>;
};
