/** How much of a conversation's history is sent to the model. Contract section 7. */
import type { History, HistoryBudget } from '../store/conversation-history.ts';

/** Without a known context window. */
const DEFAULT_CHARACTERS = 48_000;
/** Fewer than in most languages. */
const BYTES_PER_TOKEN = 3;
/** Of larger context windows, the rest stays unused: each request holds its history in memory. */
const MOST_BYTES = 2_000_000;

/**
 * How much history may be sent. The context window decides if it is known, and also limits what the operator
 * configured. `sentBytes` are sent in any case: the question and the instructions. The reply takes `outputTokens`, by
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
  const textBytes = Math.max(0, Math.min(MOST_BYTES, left * BYTES_PER_TOKEN - sentBytes));
  return { textBytes, ...(configured !== undefined && { characters: configured }) };
}

export const noHistory: History = { messages: [], included: 0, omitted: 0 };

/** Drops messages before the user's first one: models expect it to start the history. */
export function fromFirstQuestion({ messages, omitted }: History): History {
  const first = messages.findIndex(({ role }) => role === 'user');
  const left = first < 0 ? messages.length : first;
  const kept = messages.slice(left);
  return { messages: kept, included: kept.length, omitted: omitted + left };
}
