/** Spans as the rest of the service knows them, whoever records them. Contract section 17. */
import type { Trace } from './tracing.ts';

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export type Span = {
  /** For what belongs to the span: its parts, and requests to other services. */
  readonly trace: Trace;
  /** Attributes that are undefined are left out. */
  set(attributes: Attributes): void;
  /** Something that happened at a time within the span. */
  event(name: string): void;
  /** @param error - what failed: a code or a status, never a text */
  fail(error: string): void;
  /** Call it once. */
  end(): void;
};

/** `server`: a request to this service. `client`: a request of this service to another one. */
export type SpanKind = 'server' | 'client';

export type Tracer = {
  start(kind: SpanKind, name: string, trace: Trace, attributes: Attributes): Span;
  /** Reports problems with the export, at most one a minute. */
  reportTo(log: { warn(message: string): void }): void;
  /** Exports what is left, or gives up after a few seconds. Never rejects. */
  stop(): Promise<void>;
};
