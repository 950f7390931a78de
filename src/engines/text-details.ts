/**
 * What belongs to a text besides its characters: where it begins, what it cites, and the log probabilities of its tokens.
 * Chat completions have `annotations` and `logprobs` for a whole message. Contract sections 14 and 15.
 */
import { isObject, type JsonObject } from './upstream/json.ts';

/** What requests of the Responses API include to get log probabilities. */
export const LOGPROBS = 'message.output_text.logprobs';

/** Begins another text: a block of a message of Anthropic's, or another message of OpenAI's Responses API. */
export type Boundary = 'block' | 'message';

const boundaries = new WeakMap<JsonObject, Boundary>();

/** Marks a step or a delta. Chat completions cannot say it, so it stays beside the object. */
export function beginText(step: JsonObject, boundary: Boundary): void {
  boundaries.set(step, boundary);
}

export const boundaryOf = (step: JsonObject): Boundary | undefined => boundaries.get(step);

export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];

/** Members that count the characters before a place in a text. */
const positions: ReadonlySet<string> = new Set(['start_index', 'end_index']);

const moved = (annotation: JsonObject, by: number): JsonObject =>
  Object.fromEntries(
    Object.entries(annotation).map(([name, value]) => [
      name,
      positions.has(name) && typeof value === 'number' ? value + by : value,
    ]),
  );

/**
 * An annotation of the Responses API as one of a chat completion.
 *
 * @param start - where the annotated text begins in the content of the message, in characters
 */
export function chatAnnotation({ type, ...rest }: JsonObject, start: number): JsonObject {
  const placed = moved(rest, start);
  return type === 'url_citation' ? { type, url_citation: placed } : { type, ...placed };
}

/** The inverse of `chatAnnotation`. */
export function responsesAnnotation({ type, ...rest }: JsonObject, start: number): JsonObject {
  const { url_citation: cited } = rest;
  return { type, ...moved(type === 'url_citation' && isObject(cited) ? cited : rest, -start) };
}

/** The log probabilities of a choice with these tokens. Undefined if there are none. */
export const chatLogprobs = (tokens: unknown): JsonObject | undefined =>
  objectsIn(tokens).length === 0 ? undefined : { content: objectsIn(tokens), refusal: null };
