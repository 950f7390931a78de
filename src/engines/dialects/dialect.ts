/** The API of an upstream. Engines use chat completions, and a dialect translates. Contract section 15. */
import type { EventSourceMessage } from 'eventsource-parser';
import type { CompletionInput, OriginalRequest } from '../types.ts';
import type { Concession } from '../upstream/concessions.ts';
import type { JsonObject } from '../upstream/json.ts';
import type { BrokenError } from '../upstream/transport.ts';

export type ChatQuery = {
  input: CompletionInput;
  /** The upstream's name for the model. */
  model: string;
  isStream: boolean;
  /** The request as the client sent it, if its API is not chat completions. */
  original: OriginalRequest | undefined;
  /** The model's output limit in tokens, if the operator states it. */
  maxOutputTokens: number | undefined;
};

/** Reads the events of one stream. */
export type EventReader = {
  /**
   * Returns the chunks of a chat completion in an event, not yet normalized.
   *
   * @throws ApiError `upstreamError` for an invalid event, or an event that reports an error
   */
  read(event: EventSourceMessage): JsonObject[];
  /** Whether the reader has read the event that ends a complete stream. */
  readonly isDone: boolean;
};

export type Dialect = {
  /** The API whose requests pass through. Undefined for chat completions. */
  language?: OriginalRequest['language'];
  path: string;
  /** Headers of every request, with the upstream's key. Defaults to a bearer token. */
  keyHeaders?(apiKey: string | undefined): Readonly<Record<string, string>>;
  /** The path and query of the model list. */
  modelsPath: string;
  /** Whether the API supports requests for several choices. */
  takesChoices: boolean;
  /** @throws ApiError `invalidRequest` that names the part that the upstream's API cannot express */
  body(query: ChatQuery): JsonObject;
  /** Workarounds for fields that some servers reject, in the order in which they are tried. */
  concessions?: readonly Concession[];
  /** Translates a response to a chat completion. Throws ApiError `upstreamError`. */
  completion(answer: JsonObject, broken: BrokenError): JsonObject;
  events(broken: BrokenError): EventReader;
  /** The upstream's endpoint for counting tokens, if it has one. */
  countTokens?: {
    path: string;
    body(query: ChatQuery): JsonObject;
    count(answer: JsonObject): number | undefined;
  };
};
