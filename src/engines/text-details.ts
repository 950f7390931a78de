/**
 * Details of a text beyond its characters: its boundary, its citations, and the log probabilities of its tokens. Chat
 * completions have `annotations` and `logprobs` only for a whole message. Contract sections 14 and 15.
 */
import { isObject, type JsonObject } from './upstream/json.ts';

/** The value of `include` with which clients of the Responses API request log probabilities. */
export const LOGPROBS = 'message.output_text.logprobs';

/** The start of another text: a block of an Anthropic message, or a message of OpenAI's Responses API. */
export type Boundary = 'block' | 'message';

const boundaries = new WeakMap<JsonObject, Boundary>();

/** Marks a step or a delta. Chat completions cannot express the boundary, so it is stored beside the object. */
export function beginText(step: JsonObject, boundary: Boundary): void {
  boundaries.set(step, boundary);
}

export const boundaryOf = (step: JsonObject): Boundary | undefined => boundaries.get(step);

export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];

/** Members that are character offsets in a text. */
const positions: ReadonlySet<string> = new Set(['start_index', 'end_index']);

const moved = (annotation: JsonObject, by: number): JsonObject =>
  Object.fromEntries(
    Object.entries(annotation).map(([name, value]) => [
      name,
      positions.has(name) && typeof value === 'number' ? value + by : value,
    ]),
  );

/**
 * Converts an annotation of the Responses API to one of chat completions.
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

/** The log probabilities of a choice, given those of its tokens. Undefined if there are none. */
export const chatLogprobs = (tokens: unknown): JsonObject | undefined =>
  objectsIn(tokens).length === 0 ? undefined : { content: objectsIn(tokens), refusal: null };
