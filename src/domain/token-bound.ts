/** The most tokens that a request can use: contract section 15, argued in docs/decisions/0032-tokens-a-day.md. */
import { jsonLength, SealedJson } from '../bodies/sealed.ts';

/** Models mark where a message, a part of it, or a tool begins and ends. */
const PER_OBJECT = 16;
const PER_REQUEST = 64;
/** Servers describe tools to the model in their own words. */
const WITH_TOOLS = 1000;
/** Neither the address of an image nor the size of its file says how many tokens it takes. */
const PER_IMAGE = 5000;
/** Of a number, `true`, `false`, or null. */
const PER_VALUE = 24;

/** The ledger's columns hold four bytes. */
const MOST_TOKENS = 1_000_000_000;

/** In chat completions, the Responses API, and the Messages API. */
const imageTypes: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);

function tokensIn(value: unknown): number {
  // A token is at least one byte.
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return PER_VALUE;
  if (value instanceof SealedJson) return jsonLength(value);
  if (Array.isArray(value)) {
    let tokens = 0;
    for (const one of value as unknown[]) tokens += tokensIn(one);
    return tokens;
  }
  if (imageTypes.has((value as { type?: unknown }).type)) return PER_IMAGE;
  let tokens = PER_OBJECT;
  for (const [name, one] of Object.entries(value))
    if (one !== undefined) tokens += Buffer.byteLength(name) + tokensIn(one);
  return tokens;
}

/** An upper bound of the tokens of a prompt: its bytes, and allowances. */
export function promptBound(prompt: object): number {
  const hasTools = 'tools' in prompt && prompt.tools !== undefined;
  return PER_REQUEST + (hasTools ? WITH_TOOLS : 0) + tokensIn(prompt);
}

/** The same for texts to embed, or their tokens. */
export const embeddedBound = (inputs: readonly (string | readonly number[])[]): number =>
  inputs.reduce(
    (tokens, one) => tokens + PER_OBJECT + (typeof one === 'string' ? Buffer.byteLength(one) : one.length),
    0,
  );

export const tokensBound = (prompt: number, answers: number, maxOutput: number): number =>
  Math.min(prompt + answers * maxOutput, MOST_TOKENS);
