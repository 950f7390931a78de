/**
 * Who answers: one interface each for chat, search and images, contract section 8. Chat engines speak OpenAI's
 * chat completions, the language of every model server; `POST /chat` is translated to it.
 */
import type { Static } from '@sinclair/typebox';
import type { CompletionChunk as CompletionChunkSchema } from '../../schemas/completion-chunks.ts';
import type { Completion, CompletionRequest } from '../../schemas/completions.ts';
import type { GeneratedImage as GeneratedImageSchema, ImageRequest } from '../../schemas/images.ts';
import type { Model as ModelSchema } from '../../schemas/models.ts';
import type { SearchResult as SearchResultSchema } from '../../schemas/search.ts';

export type Model = Static<typeof ModelSchema> & {
  /** Its context window, where the upstream's list says so. Shown to nobody. */
  contextTokens?: number;
};
export type SearchResult = Static<typeof SearchResultSchema>;
export type GeneratedImage = Static<typeof GeneratedImageSchema>;
/** What a client asked for, in OpenAI's fields; those that are null are left out. */
export type ImageInput = {
  [Field in keyof Static<typeof ImageRequest>]: NonNullable<Static<typeof ImageRequest>[Field]>;
};
export type CompletionResult = Static<typeof Completion>;
export type CompletionChunk = Static<typeof CompletionChunkSchema>;
/** What a client asked for, with the model settled. */
export type CompletionInput = Static<typeof CompletionRequest> & { model: string } & Record<string, unknown>;

export type ChatEngine = {
  kind: 'builtin' | 'upstream';
  /** The models on offer, the default one first. */
  models(): Promise<Model[]>;
  /**
   * To be called before a request is charged.
   *
   * @throws ApiError `invalidRequest` for what the engine is known not to give
   */
  check?(input: Pick<CompletionInput, 'model' | 'n'>): void;
  /**
   * Answers a chat.
   *
   * @param signal - aborted when nobody waits for the answer any more
   * @throws ApiError `upstreamError`, `upstreamTimeout`, `overloaded` or `invalidRequest`
   */
  complete(input: CompletionInput, signal: AbortSignal): Promise<CompletionResult>;
  /**
   * The same answer as it is made: a chunk with the role, chunks of text, one with `finish_reason`, and at the end,
   * always, one with `usage` and no choices. A consumer that is slow slows the engine.
   */
  stream(input: CompletionInput, signal: AbortSignal): AsyncIterable<CompletionChunk>;
};

export type SearchEngine = {
  kind: 'builtin' | 'upstream';
  /**
   * @param query - taken literally
   * @param limit - at most so many results, best first
   * @throws ApiError as for chat
   */
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchResult[]>;
};

export type ImageEngine = {
  kind: 'builtin' | 'upstream';
  /** As for chat. */
  check?(input: Pick<ImageInput, 'model' | 'n'>): void;
  /**
   * Draws `n` pictures, 1 where it is left out: all of them, or an error.
   *
   * @throws ApiError as for chat, and `notFound` for the model
   */
  generate(input: ImageInput, signal: AbortSignal): Promise<GeneratedImage[]>;
};

export type Engines = { chat: ChatEngine; images: ImageEngine; search: SearchEngine };
