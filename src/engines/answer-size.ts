import { charactersOf } from './upstream/usage.ts';

/** Limit for everything but text, in characters per character that the text may have. */
const OTHERS_PER_CHARACTER = 8;
const VALUE_CHARACTERS = 8;

/** Members that `charactersOf` counts, and members of fixed size. */
const counted = new Set(['role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls']);

/** Approximate memory of a value, in characters. Does not recurse: an upstream may nest arbitrarily deep. */
function weightOf(value: unknown): number {
  let weight = 0;
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next === null || next === undefined) continue;
    weight += VALUE_CHARACTERS;
    if (typeof next === 'string') weight += next.length;
    else if (typeof next === 'object') for (const member of Object.values(next)) open.push(member);
  }
  return weight;
}

export class AnswerSize {
  readonly #maxCharacters: number;
  readonly #errors: { tooLong: () => Error; tooLarge: () => Error };
  #characters = 0;
  #others = 0;

  /** @param errors - create the error for text over its limit, and for everything else over its limit */
  constructor(maxCharacters: number, errors: { tooLong: () => Error; tooLarge: () => Error }) {
    this.#maxCharacters = maxCharacters;
    this.#errors = errors;
  }

  add(message: Readonly<Record<string, unknown>>, logprobs: unknown): void {
    this.#characters += charactersOf(message);
    if (this.#characters > this.#maxCharacters) throw this.#errors.tooLong();
    this.#others += weightOf(logprobs);
    if (Array.isArray(message.tool_calls)) this.#others += VALUE_CHARACTERS * message.tool_calls.length;
    for (const name in message) if (!counted.has(name)) this.#others += weightOf(message[name]);
    if (this.#others > this.#maxCharacters * OTHERS_PER_CHARACTER) throw this.#errors.tooLarge();
  }
}
