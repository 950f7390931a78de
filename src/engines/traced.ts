/**
 * Spans of requests to model servers, named by OpenTelemetry's conventions for generative AI. They never contain
 * prompts or replies. Contract section 17.
 */
import { withoutApiKeys } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';
import type { Attributes, Span, Tracer } from '../telemetry/tracer.ts';
import { traceOfWork, traceWork } from '../telemetry/tracing.ts';
import type { UpstreamKind } from '../upstreams-file/schema.ts';
import { DerivedSignal } from './derived-signal.ts';
import { hasOutput } from './first-output.ts';
import type {
  ChatCall,
  ChatEngine,
  CompletionChunk,
  CompletionInput,
  EmbeddingEngine,
  ImageEngine,
  SearchEngine,
} from './types.ts';
import type { NamedModel } from './upstream/model-map.ts';
import { tokensOf } from './upstream/usage.ts';

/** The server that an engine calls. */
export type TraceContext = {
  tracer: Tracer;
  url: string;
  kind?: UpstreamKind;
  name?: string;
  /** Models that the operator configured, default first. Only spans of embeddings and images need them. */
  models?: readonly NamedModel[];
  /** Whether the operator configured every model that requests may name. */
  isOperators?: boolean;
};

/** Undefined if only the operator knows the provider. */
const providers: Record<UpstreamKind, string | undefined> = {
  'ai-sdk': undefined,
  openai: 'openai',
  'openai-responses': 'openai',
  anthropic: 'anthropic',
};

const portOf = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80));

function attributesOf({ kind, name, url }: TraceContext): Attributes {
  const server = new URL(url);
  return {
    'gen_ai.provider.name': providers[kind ?? 'openai'],
    'server.address': server.hostname,
    'server.port': portOf(server),
    'parley.upstream': name,
  };
}

/** The error code of a span. Undefined if the client ended the work, which is not a failure. */
const errorOf = (error: unknown, signal: AbortSignal): string | undefined => {
  if (signal.aborted && !(signal.reason instanceof ApiError)) return undefined;
  return error instanceof ApiError ? error.code : 'internalError';
};

/** A span for one piece of work. Requests sent under its signal become its children. Call `end` once. */
class TracedWork {
  readonly span: Span | undefined;
  readonly #signal: DerivedSignal;

  constructor(place: TraceContext, signal: AbortSignal, name: string, attributes: Attributes) {
    this.#signal = new DerivedSignal(signal);
    const trace = traceOfWork(signal);
    // Work without a request, such as probing a server.
    if (trace === undefined) return;
    this.span = place.tracer.start('client', name, trace, { ...attributesOf(place), ...attributes });
    traceWork(this.signal, this.span.trace);
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  end(failure?: { error: unknown }): void {
    this.#signal.end();
    const error = failure && errorOf(failure.error, this.signal);
    if (error !== undefined) this.span?.fail(error);
    this.span?.end();
  }

  async run<T>(work: (signal: AbortSignal) => Promise<T>, learn: (result: T) => Attributes): Promise<T> {
    try {
      const result = await work(this.signal);
      this.span?.set(learn(result));
      this.end();
      return result;
    } catch (error) {
      this.end({ error });
      throw error;
    }
  }
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const requestOf = (input: CompletionInput, isStream: boolean): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': input.model,
  'gen_ai.request.max_tokens': numberOf(input.max_completion_tokens ?? input.max_tokens),
  'gen_ai.request.temperature': numberOf(input.temperature),
  'gen_ai.request.top_p': numberOf(input.top_p),
  'gen_ai.request.choice.count': (input.n ?? 1) > 1 ? numberOf(input.n) : undefined,
  'gen_ai.output.type': 'text',
  'parley.stream': isStream,
});

function usageOf(usage: CompletionChunk['usage']): Attributes {
  if (!usage) return {};
  const { cachedTokens, inputTokens, outputTokens } = tokensOf(usage);
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
  };
}

type Answer = {
  id: string;
  model: string;
  choices: readonly { finish_reason: string | null }[];
  usage?: CompletionChunk['usage'];
};

const answerOf = ({ choices, id, model, usage }: Answer): Attributes => ({
  'gen_ai.response.id': id,
  'gen_ai.response.model': model,
  'gen_ai.response.finish_reasons': choices.flatMap(({ finish_reason: reason }) => reason ?? []),
  ...usageOf(usage),
});

/** A stream whose span lasts until the stream ends or its reader leaves. */
class TracedChunks implements AsyncIterator<CompletionChunk, void> {
  readonly #work: TracedWork;
  readonly #chunks: AsyncIterator<CompletionChunk, void>;
  readonly #reasons = new Map<number, string>();
  #hasOutput = false;
  #isOver = false;

  constructor(
    engine: ChatEngine,
    place: TraceContext,
    input: CompletionInput,
    signal: AbortSignal,
    call?: ChatCall,
  ) {
    this.#work = new TracedWork(place, signal, `chat ${input.model}`, requestOf(input, true));
    this.#chunks = engine.stream(input, this.#work.signal, call)[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<CompletionChunk, void>> {
    try {
      const result = await this.#chunks.next();
      if (result.done) this.#end();
      else this.#note(result.value);
      return result;
    } catch (error) {
      this.#end({ error });
      throw error;
    }
  }

  async return(): Promise<IteratorResult<CompletionChunk, void>> {
    try {
      await this.#chunks.return?.();
    } finally {
      // If the signal has no ApiError as its reason, the reader left.
      const { aborted, reason } = this.#work.signal;
      this.#end(aborted && reason instanceof ApiError ? { error: reason } : undefined);
    }
    return { done: true, value: undefined };
  }

  #note(chunk: CompletionChunk): void {
    const { span } = this.#work;
    if (span === undefined) return;
    if (!this.#hasOutput && hasOutput(chunk)) {
      this.#hasOutput = true;
      span.event('first output');
    }
    for (const { finish_reason: reason, index } of chunk.choices)
      if (reason !== null) this.#reasons.set(index, reason);
    if (!chunk.usage) return;
    const choices = [...this.#reasons.values()].map((reason) => ({ finish_reason: reason }));
    span.set(answerOf({ ...chunk, choices }));
  }

  #end(failure?: { error: unknown }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#work.end(failure);
  }
}

/** Adds spans to an engine. Returns it unchanged if the trace context is undefined, because tracing is off. */
export function tracedChat(engine: ChatEngine, place: TraceContext | undefined): ChatEngine {
  if (place === undefined) return engine;
  return {
    ...engine,
    complete: (input, signal, call) =>
      new TracedWork(place, signal, `chat ${input.model}`, requestOf(input, false)).run(
        (work) => engine.complete(input, work, call),
        answerOf,
      ),
    stream: (input, signal, call) => ({
      [Symbol.asyncIterator]: () => new TracedChunks(engine, place, input, signal, call),
    }),
    ...(engine.countTokens && {
      countTokens: (input, signal, call) =>
        new TracedWork(place, signal, `count_tokens ${input.model}`, {
          'gen_ai.request.model': input.model,
        }).run(
          async (work) => engine.countTokens?.(input, work, call),
          (tokens) => ({ 'gen_ai.usage.input_tokens': tokens }),
        ),
    }),
  };
}

/** The requested model. Only a model that the operator configured appears in the name of the span. */
function modelOf(
  { isOperators, models }: TraceContext,
  named: string | undefined,
): { name?: string; attribute?: string } {
  if (isOperators && named !== undefined) return { name: named, attribute: named };
  const known = models?.find(({ id }) => id === (named ?? models[0]?.id));
  if (known !== undefined) return { name: known.upstream, attribute: known.upstream };
  return named === undefined ? {} : { attribute: withoutApiKeys(named) };
}

const named = (operation: string, model: string | undefined) =>
  model === undefined ? operation : `${operation} ${model}`;

export function tracedEmbeddings(engine: EmbeddingEngine, place: TraceContext | undefined): EmbeddingEngine {
  if (place === undefined) return engine;
  return {
    ...engine,
    embed: (input, signal) => {
      const { attribute, name } = modelOf(place, input.model);
      return new TracedWork(place, signal, named('embeddings', name), {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.request.model': attribute,
        'gen_ai.embeddings.dimension.count': input.dimensions,
      }).run(
        (work) => engine.embed(input, work),
        ({ model, promptTokens }) => ({
          'gen_ai.response.model': model,
          'gen_ai.usage.input_tokens': promptTokens,
        }),
      );
    },
  };
}

export function tracedImages(engine: ImageEngine, place: TraceContext | undefined): ImageEngine {
  if (place === undefined) return engine;
  return {
    ...engine,
    generate: (input, signal) => {
      const { attribute, name } = modelOf(place, place.models?.[0]?.id ?? input.model);
      return new TracedWork(place, signal, named('generate_content', name), {
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.output.type': 'image',
        'gen_ai.request.model': attribute,
        'gen_ai.request.choice.count': input.n,
      }).run(
        (work) => engine.generate(input, work),
        () => ({}),
      );
    },
  };
}

export function tracedSearch(engine: SearchEngine, place: TraceContext | undefined): SearchEngine {
  if (place === undefined) return engine;
  return {
    ...engine,
    search: (query, limit, signal) =>
      new TracedWork(place, signal, 'search', { 'gen_ai.provider.name': undefined }).run(
        (work) => engine.search(query, limit, work),
        () => ({}),
      ),
  };
}
