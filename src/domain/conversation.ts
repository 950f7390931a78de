/** What a continued conversation sends to the model, and how a conversation is called. Contract section 7. */

/** Most characters of history that are sent along. */
export const HISTORY_CHARACTERS = 48_000;
/** Most messages of history that are sent along. */
export const HISTORY_MESSAGES = 100;
const TITLE_CHARACTERS = 80;

export type HistoryMessage = { role: 'user' | 'assistant'; content: string };

/**
 * The newest messages that fit the budget, oldest first. Whole messages only, and the first is the user's.
 *
 * @param newestFirst - at most `HISTORY_MESSAGES`
 */
export function historyWithin(
  newestFirst: readonly HistoryMessage[],
  budget: number = HISTORY_CHARACTERS,
): HistoryMessage[] {
  let characters = 0;
  const kept: HistoryMessage[] = [];
  for (const { content, role } of newestFirst) {
    characters += content.length;
    if (characters > budget) break;
    kept.unshift({ role, content });
  }
  const firstQuestion = kept.findIndex((message) => message.role === 'user');
  return firstQuestion < 0 ? [] : kept.slice(firstQuestion);
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
