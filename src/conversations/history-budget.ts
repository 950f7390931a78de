/** Decides how much of a conversation's history to send to the model. Contract section 7. */
import type { History, HistoryBudget } from '../store/conversation-history.ts';

/** The default if the context window is unknown. */
const DEFAULT_CHARACTERS = 48_000;
/** A low estimate. Most languages have more bytes per token. */
const BYTES_PER_TOKEN = 3;
/** The most history to send, even if the context window is larger: each request holds its history in memory. */
const MAX_BYTES = 2_000_000;

/**
 * Returns how much history to send. A known context window decides, and also limits the operator's setting. `sentBytes`
 * is the size of the question and the instructions, which are always sent. `outputTokens` is reserved for the reply, by
 * default a quarter of the context window.
 */
export function historyBudget(
  configured: number | undefined,
  contextTokens: number | undefined,
  sentBytes: number,
  outputTokens: number | undefined,
): Pick<HistoryBudget, 'characters' | 'textBytes'> {
  if (contextTokens === undefined) return { characters: configured ?? DEFAULT_CHARACTERS };
  const left = contextTokens - (outputTokens ?? Math.ceil(contextTokens / 4));
  const textBytes = Math.max(0, Math.min(MAX_BYTES, left * BYTES_PER_TOKEN - sentBytes));
  return { textBytes, ...(configured !== undefined && { characters: configured }) };
}

export const noHistory: History = { messages: [], included: 0, omitted: 0 };

/** Drops messages before the user's first message, because models expect the history to start with it. */
export function fromFirstQuestion({ messages, omitted }: History): History {
  const first = messages.findIndex(({ role }) => role === 'user');
  const left = first < 0 ? messages.length : first;
  const kept = messages.slice(left);
  return { messages: kept, included: kept.length, omitted: omitted + left };
}
