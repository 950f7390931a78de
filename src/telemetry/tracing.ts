/**
 * W3C trace context. A request continues its client's trace, and requests to upstreams belong to that trace. Without
 * one, a trace begins whose ID is the request ID. Contract section 17.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { newSpanId } from '../domain/ids.ts';

export type Trace = {
  /** 32 hexadecimal digits. */
  id: string;
  /** The parent span; undefined at the beginning of a trace. */
  parentId: string | undefined;
  /** Whether the parent span is this service's own. */
  isOwn: boolean;
  /** Whether the client records the trace: `01` or `00`. */
  flags: string;
  /** The `tracestate` header, forwarded unchanged. */
  state: string | undefined;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace that the client's headers continue; undefined without a valid `traceparent`. */
function continued({ traceparent, tracestate }: IncomingHttpHeaders): Trace | undefined {
  const [, version, id, parentId, flags = '00', more] = TRACEPARENT.exec(String(traceparent ?? '')) ?? [];
  if (id === undefined || (version === '00' && more !== undefined)) return undefined;
  const state = typeof tracestate === 'string' && TRACESTATE.test(tracestate) ? tracestate : undefined;
  // Only the first flag has a meaning.
  return { id, parentId, isOwn: false, flags: (Number.parseInt(flags, 16) & 1) === 1 ? '01' : '00', state };
}

export const traceOf = (headers: IncomingHttpHeaders, requestId: string): Trace =>
  continued(headers) ?? {
    id: requestId.replaceAll('-', ''),
    parentId: undefined,
    isOwn: false,
    flags: '00',
    state: undefined,
  };

/** Engines know a request only by its abort signal. */
const traces = new WeakMap<AbortSignal, Trace>();

export const traceWork = (signal: AbortSignal, trace: Trace): unknown => traces.set(signal, trace);

/** Undefined if the work does not belong to a request. */
export const traceOfWork = (signal: AbortSignal): Trace | undefined => traces.get(signal);

/** Makes the work under `signal` a part of the work under `whole`. */
export function continueTrace(signal: AbortSignal, whole: AbortSignal): void {
  const trace = traces.get(whole);
  if (trace !== undefined) traces.set(signal, trace);
}

/** Headers for a request to another service. Empty if the work does not belong to a request. */
export function traceHeaders(signal: AbortSignal): Record<string, string> {
  const trace = traces.get(signal);
  if (trace === undefined) return {};
  const { flags, id, isOwn, parentId, state } = trace;
  return {
    traceparent: `00-${id}-${(isOwn && parentId) || newSpanId()}-${flags}`,
    ...(state !== undefined && { tracestate: state }),
  };
}
