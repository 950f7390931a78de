/** Records spans with OpenTelemetry and exports them over OTLP. Loaded only if `OTEL_EXPORTER_OTLP_ENDPOINT` is set. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createTraceState,
  DiagLogLevel,
  diag,
  SpanKind as Kind,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace as traces,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { newSpanId } from '../domain/ids.ts';
import { version } from '../project.ts';
import type { TelemetrySettings } from './settings.ts';
import type { Attributes, Span, SpanKind, Tracer } from './tracer.ts';
import type { Trace } from './tracing.ts';

const STOP_MS = 3000;
const REPORT_EVERY_MS = 60_000;
/** In characters. Names of models and routes are shorter. */
const MAX_ATTRIBUTE_LENGTH = 1000;

const kinds: Record<SpanKind, Kind> = { server: Kind.SERVER, client: Kind.CLIENT };

function samplerOf({ ratio, sampler }: TelemetrySettings): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

/** Generates IDs. The ID of a trace without a parent is the one in the log. */
class Ids {
  next = '';
  generateTraceId = (): string => this.next;
  generateSpanId = newSpanId;
}

/** The parent context of a new span. */
function contextOf({ flags, id, isOwn, parentId, state }: Trace) {
  if (parentId === undefined) return ROOT_CONTEXT;
  return traces.setSpanContext(ROOT_CONTEXT, {
    traceId: id,
    spanId: parentId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: !isOwn,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  });
}

class RecordedSpan implements Span {
  readonly trace: Trace;
  readonly #span: OtelSpan;

  constructor(span: OtelSpan, { state }: Trace) {
    const { spanId, traceFlags, traceId } = span.spanContext();
    const flags = (traceFlags & 1) === 1 ? '01' : '00';
    this.trace = { id: traceId, parentId: spanId, isOwn: true, flags, state };
    this.#span = span;
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.#span.setAttribute(name, value as string);
  }

  event(name: string): void {
    this.#span.addEvent(name);
  }

  fail(error: string): void {
    this.#span.setAttribute('error.type', error);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/** Starts to export in the background. Does not throw if the collector is unreachable. */
export function startTracer(settings: TelemetrySettings): Tracer {
  const ids = new Ids();
  const exporter = new OTLPTraceExporter({ url: `${settings.endpoint.replace(/\/+$/, '')}/v1/traces` });
  const own = resourceFromAttributes({
    'service.name': 'parley',
    'service.version': version,
    'service.instance.id': randomBytes(8).toString('hex'),
  });
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override these attributes.
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('parley', version);
  return {
    start(kind, name, trace, attributes) {
      ids.next = trace.id;
      const span = tracer.startSpan(name, { kind: kinds[kind] }, contextOf(trace));
      const recorded = new RecordedSpan(span, trace);
      recorded.set(attributes);
      return recorded;
    },
    reportTo(log) {
      let reportedAt = Number.NEGATIVE_INFINITY;
      const report = (message: string) => {
        if (performance.now() - reportedAt < REPORT_EVERY_MS) return;
        reportedAt = performance.now();
        log.warn(`Exporting traces: ${message.slice(0, 500)}`);
      };
      const silent = () => {};
      diag.setLogger(
        { error: report, warn: report, info: silent, debug: silent, verbose: silent },
        { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
      );
    },
    async stop() {
      const stopped = provider.shutdown().catch(() => {});
      await Promise.race([stopped, delay(STOP_MS, undefined, { ref: false })]);
    },
  };
}
