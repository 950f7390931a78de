/**
 * Reasoning that only the model that wrote it can read or verify. Messages and chunks carry it in `reasoning_details`,
 * which is OpenRouter's format. Contract section 14.
 */
import { isObject, type JsonObject } from './upstream/json.ts';

export const MESSAGES_FORMAT = 'anthropic-claude-v1';
export const RESPONSES_FORMAT = 'openai-responses-v1';

/** The seal of reasoning: a signature of its text, or opaque data that replaces the text. */
export type Seal = { format: string; kind: 'signature' | 'data'; value: string };

export type SealedReasoning = { text: string; seal: Seal };

export const detailOf = ({ seal, text }: SealedReasoning): JsonObject => ({
  type: seal.kind === 'data' ? 'reasoning.encrypted' : 'reasoning.text',
  format: seal.format,
  ...(text !== '' && { text }),
  [seal.kind]: seal.value,
});

function sealedOf(detail: unknown): SealedReasoning[] {
  if (!isObject(detail)) return [];
  const { data, format, signature, text } = detail;
  const kind = typeof signature === 'string' && signature !== '' ? 'signature' : 'data';
  const value = kind === 'signature' ? signature : data;
  if (typeof format !== 'string' || typeof value !== 'string' || value === '') return [];
  return [{ text: typeof text === 'string' ? text : '', seal: { format, kind, value: value as string } }];
}

/** The sealed reasoning of a message or a delta. Skips details without a seal: their text is read elsewhere. */
export const sealedReasoning = ({ reasoning_details: details }: JsonObject): SealedReasoning[] =>
  Array.isArray(details) ? (details as unknown[]).flatMap(sealedOf) : [];

const WRITTEN = /^([\w.-]{1,60}):(signature|data):/;

/** Formats a seal as text, so that a client of another format can keep it and send it back. */
export const writtenSeal = ({ format, kind, value }: Seal, own: string): string =>
  format === own ? value : `${format}:${kind}:${value}`;

/** Parses text that a client sent back. Without a prefix, it has the client's format `own` and this `kind`. */
export function readSeal(text: string, own: string, kind: Seal['kind']): Seal {
  const [prefix, format, named] = WRITTEN.exec(text) ?? [];
  return prefix === undefined || format === undefined
    ? { format: own, kind, value: text }
    : { format, kind: named as Seal['kind'], value: text.slice(prefix.length) };
}
