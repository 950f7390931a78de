/** Engine interfaces. Chat engines use OpenAI's chat completions, including for `POST /chat`. Contract section 8. */
import type { Static } from '@sinclair/typebox';
import type { CompletionChunk as CompletionChunkSchema } from '../../schemas/completion-chunks.ts';
import type { Completion, CompletionRequest } from '../../schemas/completions.ts';
import type { EmbeddingRequest } from '../../schemas/embeddings.ts';
import type { GeneratedImage as GeneratedImageSchema, ImageRequest } from '../../schemas/images.ts';
import type { Model as ModelSchema } from '../../schemas/models.ts';
import type { SearchResult as SearchResultSchema } from '../../schemas/search.ts';
import type { Prices } from '../upstreams-file/settings.ts';
import type { ModelAliases } from './model-aliases.ts';

export type Model = Static<typeof ModelSchema> & {
  /** Context window in tokens, from the upstream's list or the operator's file. This member is not public. */
  contextTokens?: number;
  /** The most tokens that an input image can count, if the operator states it. Not public. */
  imageTokens?: number;
  /** The only plans that include the model, if the operator restricts it. Not public. */
  plans?: readonly string[];
};
export type SearchResult = Static<typeof SearchResultSchema>;
export type GeneratedImage = Static<typeof GeneratedImageSchema>;
export type ImageInput = {
  [Field in keyof Static<typeof ImageRequest>]: NonNullable<Static<typeof ImageRequest>[Field]>;
};
export type EmbeddingInput = {
  [Field in keyof Static<typeof EmbeddingRequest>]: NonNullable<Static<typeof EmbeddingRequest>[Field]>;
};
export type CompletionResult = Static<typeof Completion>;
export type CompletionChunk = Static<typeof CompletionChunkSchema>;
/** A client's request, with the model resolved. */
export type CompletionInput = Static<typeof CompletionRequest> & { model: string } & Record<string, unknown>;

/** A request of an API other than chat completions. Upstreams with the same API receive it almost unchanged. */
export type OriginalRequest = {
  language: 'responses' | 'anthropic';
  /** Creates the body, without the features that Parley implements itself and those that it does not allow. */
  body(): Record<string, unknown>;
  headers?: Readonly<Record<string, string>>;
};

/** Input and callbacks for choosing among several upstreams. */
export type RoutedCall = {
  /** The account that made the request. */
  account?: string | undefined;
  /** Requests with the same value go to the same target while it works, to reuse its prompt cache. */
  affinity?: string | undefined;
  /** Called before each attempt with the upstream's name, its name for the model, and its token prices. */
  onAttempt?(upstream: string, model: string, prices: Prices | undefined): void;
  /** Called if the request never left the queue for that upstream, so no attempt was made. */
  onUnsent?(): void;
  /** Called after each failed attempt that another attempt may replace. */
  onFailure?(upstream: string, error: unknown): void;
  /** Called when the reply begins. */
  onOutput?(): void;
};

/** Input and callbacks of a chat request besides its body. */
export type ChatCall = RoutedCall & {
  original?: OriginalRequest | undefined;
  /** The model's output limit in tokens, for upstreams that require a limit in each request. */
  maxOutputTokens?: number | undefined;
};

export type ChatEngine = {
  kind: 'builtin' | 'upstream';
  /** The default model comes first. */
  models(): Promise<Model[]>;
  /** Additional names that the operator gave to models. */
  aliases?: ModelAliases;
  /** Call it before charging a request. Throws ApiError `invalidRequest` if the engine is known to lack support. */
  check?(input: Pick<CompletionInput, 'model' | 'n'>): void;
  /** The tokens of a request as counted by the upstream. Undefined if the upstream cannot count them or fails. */
  countTokens?(input: CompletionInput, signal: AbortSignal, call?: ChatCall): Promise<number | undefined>;
  /** @throws ApiError `upstreamError`, `upstreamTimeout`, `overloaded`, or `invalidRequest` */
  complete(input: CompletionInput, signal: AbortSignal, call?: ChatCall): Promise<CompletionResult>;
  /**
   * Streams the reply: a chunk with the role, chunks of text, a chunk with `finish_reason`, and always a last chunk
   * with `usage` and no choices. A slow consumer slows the engine.
   */
  stream(input: CompletionInput, signal: AbortSignal, call?: ChatCall): AsyncIterable<CompletionChunk>;
};

export type SearchEngine = {
  kind: 'builtin' | 'upstream';
  /** Searches for the literal query. Returns up to `limit` results, best first. Throws the same errors as chat. */
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchResult[]>;
};

export type ImageEngine = {
  kind: 'builtin' | 'upstream';
  check?(input: Pick<ImageInput, 'model' | 'n'>): void;
  /** Generates all `n` images (default 1), or fails. Throws the same errors as chat, and `notFound` for the model. */
  generate(input: ImageInput, signal: AbortSignal, call?: RoutedCall): Promise<GeneratedImage[]>;
};

export type Embedded = {
  /** One vector per input, in order, as JSON in the requested encoding: numbers, or a Base64 string. */
  vectors: string[];
  model: string;
  promptTokens: number;
  /** Whether `promptTokens` is an estimate, because the upstream reported no tokens. */
  isEstimated?: boolean;
};

export type EmbeddingEngine = {
  kind: 'builtin' | 'upstream';
  /**
   * Call it before charging a request. Throws ApiError `notFound` for the model, or `invalidRequest`.
   *
   * @returns the ID of the model that the engine will use; undefined if unknown
   */
  check(input: Pick<EmbeddingInput, 'model' | 'dimensions'>): string | undefined;
  /** Embeds all inputs, or fails. Throws the same errors as chat, and `notFound` for the model. */
  embed(input: EmbeddingInput, signal: AbortSignal, call?: RoutedCall): Promise<Embedded>;
};
