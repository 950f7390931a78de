/** What a continued conversation sends to the model, and how a conversation is called. Contract section 7. */
import type { History } from '../store/history.ts';

const TITLE_CHARACTERS = 80;

/** Fewer than language models need for English, so that a text in another language fits as well. */
const CHARACTERS_PER_TOKEN = 3;

/**
 * How many characters of history may be sent.
 *
 * @param configured - `CHAT_HISTORY_CHARACTERS`
 * @param contextTokens - the model's context window, where it is known
 * @param sent - characters that are sent in any case: the question and the instructions
 * @param outputTokens - the most tokens that the reply may have; a quarter of the window where nobody said
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

/** The history of a new conversation. */
export const noHistory: History = { messages: [], included: 0, omitted: 0 };

/** The first message of a history is the user's: models expect it. */
export function fromFirstQuestion({ messages, omitted }: History): History {
  const first = messages.findIndex(({ role }) => role === 'user');
  const left = first < 0 ? messages.length : first;
  const kept = messages.slice(left);
  return { messages: kept, included: kept.length, omitted: omitted + left };
}

/** The beginning of the first message, on one line. */
export function titleOf(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim();
  if (line === '') return 'Untitled';
  const characters = [...line];
  return characters.length <= TITLE_CHARACTERS
    ? line
    : `${characters
        .slice(0, TITLE_CHARACTERS - 1)
        .join('')
        .trimEnd()}…`;
}
