/** The history of a conversation. Contract section 7. */
import type { History } from '../store/history.ts';

/** Below the average for English, so that other languages fit too. */
const CHARACTERS_PER_TOKEN = 3;

/**
 * How many characters of history may be sent. `sent` are sent in any case: the question and the instructions. The reply
 * takes `outputTokens`, by default a quarter of the context window.
 */
export function historyBudget(
  configured: number,
  contextTokens: number | undefined,
  sent: number,
  outputTokens: number | undefined,
): number {
  if (contextTokens === undefined) return configured;
  const left = contextTokens - (outputTokens ?? Math.ceil(contextTokens / 4));
  return Math.max(0, Math.min(configured, left * CHARACTERS_PER_TOKEN - sent));
}

export const noHistory: History = { messages: [], included: 0, omitted: 0 };

/** Drops messages before the user's first one: models expect it to start the history. */
export function fromFirstQuestion({ messages, omitted }: History): History {
  const first = messages.findIndex(({ role }) => role === 'user');
  const left = first < 0 ? messages.length : first;
  const kept = messages.slice(left);
  return { messages: kept, included: kept.length, omitted: omitted + left };
}
