/** The API that an upstream speaks. Engines speak chat completions; a dialect translates. Contract section 15. */
import type { EventSourceMessage } from 'eventsource-parser';
import type { CompletionInput, SaidRequest } from '../types.ts';
import type { Concession } from '../upstream/concessions.ts';
import type { JsonObject } from '../upstream/json.ts';
import type { Broken } from '../upstream/transport.ts';

export type Asked = {
  input: CompletionInput;
  /** The upstream's name of the model. */
  model: string;
  isStream: boolean;
  /** The request as the client sent it, if its API is not chat completions. */
  said: SaidRequest | undefined;
  /** Of the model, if the operator states it. */
  maxOutputTokens: number | undefined;
};

/** Reads the events of one stream. */
export type EventReader = {
  /**
   * The chunks of a chat completion in an event, as the upstream or the dialect wrote them.
   *
   * @throws ApiError `upstreamError` for an invalid event, or one that reports an error
   */
  read(event: EventSourceMessage): JsonObject[];
  /** Whether the event that ends a complete stream was read. */
  readonly isDone: boolean;
};

export type Dialect = {
  /** Of the requests that pass through, if their API is not chat completions. */
  language?: SaidRequest['language'];
  path: string;
  /** Headers of every request, with the upstream's key. Defaults to a bearer token. */
  keyHeaders?(apiKey: string | undefined): Readonly<Record<string, string>>;
  /** The path and query of the list of models. */
  modelsPath: string;
  /** Whether a request can ask for several choices. */
  takesChoices: boolean;
  /** @throws ApiError `invalidRequest` that names what the upstream's API cannot express */
  body(asked: Asked): JsonObject;
  /** What the upstream's servers may reject, in the order in which they are tried. */
  concessions?: readonly Concession[];
  /** A chat completion. Throws ApiError `upstreamError`. */
  completion(answer: JsonObject, broken: Broken): JsonObject;
  events(broken: Broken): EventReader;
  /** Where the upstream counts the tokens of a request, if it does. */
  countTokens?: {
    path: string;
    body(asked: Asked): JsonObject;
    count(answer: JsonObject): number | undefined;
  };
};
