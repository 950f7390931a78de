/** Engine interfaces. Chat engines use OpenAI's chat completions, also for `POST /chat`. Contract section 8. */
import type { Static } from '@sinclair/typebox';
import type { CompletionChunk as CompletionChunkSchema } from '../../schemas/completion-chunks.ts';
import type { Completion, CompletionRequest } from '../../schemas/completions.ts';
import type { EmbeddingRequest } from '../../schemas/embeddings.ts';
import type { GeneratedImage as GeneratedImageSchema, ImageRequest } from '../../schemas/images.ts';
import type { Model as ModelSchema } from '../../schemas/models.ts';
import type { SearchResult as SearchResultSchema } from '../../schemas/search.ts';
import type { Prices } from '../upstreams/settings.ts';
import type { ModelAliases } from './model-aliases.ts';

export type Model = Static<typeof ModelSchema> & {
  /** Context window, if the upstream's list has it. Not public. */
  contextTokens?: number;
  /** The most tokens of an image in its input, if the operator states it. Not public. */
  imageTokens?: number;
  /** The only plans that include the model, if the operator limits it. Not public. */
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

/** A request of another API than chat completions, which upstreams of the same API get almost as it is. */
export type SaidRequest = {
  language: 'responses' | 'anthropic';
  /** Makes the body, without what this service does itself, and what it does not allow. */
  body(): Record<string, unknown>;
  headers?: Readonly<Record<string, string>>;
};

/** What a request tells the choice among several upstreams, and learns from it. */
export type RoutedCall = {
  /** Whose request it is. */
  account?: string | undefined;
  /** Requests with the same value go to the same target while it works, so that its prompt cache is used. */
  affinity?: string | undefined;
  /** Called before each attempt with the name of an upstream, its name of the model, and the prices of its tokens. */
  onAttempt?(upstream: string, model: string, prices: Prices | undefined): void;
  /** Called if the request never left the queue for that upstream: it was no attempt. */
  onUnsent?(): void;
  /** Called after each failed attempt that another one may replace. */
  onFailure?(upstream: string, error: unknown): void;
  /** Called when the answer begins. */
  onOutput?(): void;
};

/** What a request tells its engine besides its input, and learns from it. */
export type ChatCall = RoutedCall & {
  said?: SaidRequest | undefined;
  /** The model's limit, for upstreams that require one in each request. */
  maxOutputTokens?: number | undefined;
};

export type ChatEngine = {
  kind: 'builtin' | 'upstream';
  /** The default model comes first. */
  models(): Promise<Model[]>;
  /** Names that the operator gave to models, besides their own. */
  aliases?: ModelAliases;
  /** Call it before charging a request. Throws ApiError `invalidRequest` if the engine is known to lack support. */
  check?(input: Pick<CompletionInput, 'model' | 'n'>): void;
  /** The tokens of a request, counted by the upstream. Undefined if it does not count them or fails to. */
  countTokens?(input: CompletionInput, signal: AbortSignal, call?: ChatCall): Promise<number | undefined>;
  /** @throws ApiError `upstreamError`, `upstreamTimeout`, `overloaded`, or `invalidRequest` */
  complete(input: CompletionInput, signal: AbortSignal, call?: ChatCall): Promise<CompletionResult>;
  /**
   * Streams the answer: a chunk with the role, chunks of text, one with `finish_reason`, and always a last one with
   * `usage` and no choices. A slow consumer slows the engine.
   */
  stream(input: CompletionInput, signal: AbortSignal, call?: ChatCall): AsyncIterable<CompletionChunk>;
};

export type SearchEngine = {
  kind: 'builtin' | 'upstream';
  /** Takes the query literally. Returns up to `limit` results, best first. Throws as chat does. */
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchResult[]>;
};

export type ImageEngine = {
  kind: 'builtin' | 'upstream';
  check?(input: Pick<ImageInput, 'model' | 'n'>): void;
  /** Generates all `n` images (default 1), or fails. Throws as chat does, and `notFound` for the model. */
  generate(input: ImageInput, signal: AbortSignal, call?: RoutedCall): Promise<GeneratedImage[]>;
};

export type Embedded = {
  /** A vector per input, in order, as JSON in the requested encoding: numbers, or a base64 string. */
  vectors: string[];
  model: string;
  promptTokens: number;
  /** Whether the upstream reported no tokens. */
  isEstimated?: boolean;
};

export type EmbeddingEngine = {
  kind: 'builtin' | 'upstream';
  /**
   * Call it before charging a request. Throws ApiError `notFound` for the model, or `invalidRequest`.
   *
   * @returns the ID of the model that will be used, if the engine knows it
   */
  check(input: Pick<EmbeddingInput, 'model' | 'dimensions'>): string | undefined;
  /** Embeds all inputs, or fails. Throws as chat does, and `notFound` for the model. */
  embed(input: EmbeddingInput, signal: AbortSignal, call?: RoutedCall): Promise<Embedded>;
};
