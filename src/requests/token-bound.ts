/** Bounds the tokens that a request can use. Contract section 15, argued in docs/decisions/0032-tokens-a-day.md. */
import { jsonLength, knownJsonLength, SealedJson } from '../bodies/sealed.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';

/** Tokens per message, part, or tool: models mark where each of them begins and ends. */
const PER_OBJECT = 16;
const PER_REQUEST = 64;
/** Extra tokens for a request with tools, because servers describe the tools to the model. */
const WITH_TOOLS = 1000;
/** The most tokens of a number, `true`, `false`, or null. */
const PER_VALUE = 24;
/** The most tokens around a name or text in JSON: its quotes and the separator. */
const PER_STRING = 4;
/** The most bytes of a character that JSON escapes. */
const MAX_ESCAPE_LENGTH = 6;
/** How many characters to escape for an exact size. Escaping more would block the event loop. */
const MAX_ESCAPED = 1024 * 1024;

/** The most tokens of an image, by default. Neither its address nor its file size shows the number. */
export const PER_IMAGE = 5000;
const USUAL_IMAGE = 1000;
/** A low estimate of the bytes per token. Most languages have more. */
const USUAL_BYTES = 3;

/** The limit of a stored count. The ledger's columns hold four bytes. */
const MAX_TOKEN_COUNT = 1_000_000_000;

type TokensOf = (text: string) => number;

function tokensIn(value: unknown, tokensOf: TokensOf): number {
  if (typeof value === 'string') return tokensOf(value);
  if (typeof value !== 'object' || value === null) return PER_VALUE;
  if (value instanceof SealedJson) return jsonLength(value);
  let tokens = 0;
  if (Array.isArray(value)) {
    for (const one of value as unknown[]) tokens += tokensIn(one, tokensOf);
    return tokens;
  }
  tokens = PER_OBJECT;
  for (const [name, one] of Object.entries(value))
    if (one !== undefined) tokens += tokensOf(name) + tokensIn(one, tokensOf);
  return tokens;
}

/** Counts bytes, because a token has at least one byte. */
const inText: TokensOf = (text) => Buffer.byteLength(text);

/** Counts the bytes of text that reaches the model as JSON, where escaped characters are longer. */
function inJson(): TokensOf {
  let left = MAX_ESCAPED;
  return (text) => {
    left -= text.length;
    if (left < 0) return PER_STRING + MAX_ESCAPE_LENGTH * text.length;
    return PER_STRING + Buffer.byteLength(JSON.stringify(text)) - 2;
  };
}

/** Whether a URL refers to an image. A data URL of any other type could hold text. */
const isImageUrl = (url: unknown): boolean =>
  typeof url === 'string' && !/^data:(?!image\/)|^data:image\/svg/i.test(url);

function urlWithoutImage(url: unknown): unknown {
  if (isImageUrl(url)) return '';
  return isObject(url) && isImageUrl(url.url) ? { ...url, url: '' } : undefined;
}

function sourceWithoutImage(source: unknown): JsonObject | undefined {
  if (!isObject(source)) return undefined;
  const { media_type: mediaType, type, url } = source;
  if (type === 'url') return isImageUrl(url) ? { ...source, url: '' } : undefined;
  const isImage = typeof mediaType === 'string' && /^image\/(?!svg)/i.test(mediaType);
  return type === 'base64' && isImage ? { ...source, data: '' } : undefined;
}

/** Removes the image from a part of a message, in any of the three APIs. Undefined if the part has no image. */
function withoutImage(part: JsonObject): JsonObject | undefined {
  const { image_url: url, source, type } = part;
  if (type === 'image_url' || type === 'input_image') {
    const rest = urlWithoutImage(url);
    return rest === undefined ? undefined : { ...part, image_url: rest };
  }
  const rest = type === 'image' ? sourceWithoutImage(source) : undefined;
  return rest && { ...part, source: rest };
}

/** Fields with text for the model. All other fields reach it as JSON, if at all. */
const conversations: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'system', 'instructions', 'prediction'],
]);
/** Members of a message or a tool result that hold its parts. */
const partLists: ReadonlySet<string> = new Set(['content', 'output']);

/** The size of a prompt: its tokens without images, and the number of images. */
export type PromptSize = { tokens: number; images: number };

class Conversation {
  images = 0;

  tokens(messages: unknown): number {
    if (!Array.isArray(messages)) return tokensIn(messages, inText);
    let tokens = 0;
    for (const message of messages as unknown[]) tokens += this.#withParts(message);
    return tokens;
  }

  #withParts(value: unknown): number {
    if (!isObject(value) || value instanceof SealedJson) return tokensIn(value, inText);
    let tokens = PER_OBJECT;
    for (const [name, one] of Object.entries(value)) {
      if (one === undefined) continue;
      tokens += inText(name);
      if (partLists.has(name) && Array.isArray(one))
        for (const part of one as unknown[]) tokens += this.#part(part);
      else tokens += tokensIn(one, inText);
    }
    return tokens;
  }

  #part(part: unknown): number {
    if (!isObject(part)) return tokensIn(part, inText);
    if (part.type === 'tool_result') return this.#withParts(part);
    if (part.type === 'document') {
      const { source, ...rest } = part;
      return tokensIn(rest, inText) + this.#withParts(source);
    }
    const rest = withoutImage(part);
    if (rest !== undefined) this.images += 1;
    return tokensIn(rest ?? part, inText);
  }
}

/** An upper bound of the tokens of a prompt without its images. It counts bytes and adds allowances. */
export function promptSize(prompt: object): PromptSize {
  const conversation = new Conversation();
  const escaped = inJson();
  const { functions, tools } = prompt as JsonObject;
  const hasTools = (tools ?? functions ?? undefined) !== undefined;
  let tokens = PER_REQUEST + PER_OBJECT + (hasTools ? WITH_TOOLS : 0);
  for (const [name, value] of Object.entries(prompt)) {
    if (value === undefined) continue;
    tokens += inText(name);
    tokens += conversations.has(name)
      ? conversation.tokens(value)
      : (knownJsonLength(value) ?? tokensIn(value, escaped));
  }
  return { tokens, images: conversation.images };
}

/** @param perImage - the most tokens of an image */
export const promptBound = ({ images, tokens }: PromptSize, perImage = PER_IMAGE): number =>
  Math.min(tokens + images * perImage, MAX_TOKEN_COUNT);

/** A high estimate of the tokens of a prompt. */
export const likelyTokens = ({ images, tokens }: PromptSize): number =>
  Math.ceil(tokens / USUAL_BYTES) + images * USUAL_IMAGE;

/** An upper bound of the tokens of texts or token lists to embed. */
export const embeddedBound = (inputs: readonly (string | readonly number[])[]): number =>
  inputs.reduce(
    (tokens, one) => tokens + PER_OBJECT + (typeof one === 'string' ? Buffer.byteLength(one) : one.length),
    0,
  );

export const tokensBound = (prompt: number, answers: number, maxOutput: number): number =>
  Math.min(prompt + answers * maxOutput, MAX_TOKEN_COUNT);
