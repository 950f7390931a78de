/** Searches conversations for words in titles and messages. Contract section 1. */
import type { Db } from '../database/client.ts';
import { plainText } from '../domain/plain-text.ts';
import { type Hit, searchMessages } from '../store/conversation-search.ts';
import {
  type Conversation,
  type ListPosition,
  listConversations,
  type Owner,
  type Source,
} from '../store/conversations.ts';

/** How many conversations one statement reads. */
const WINDOW = 25;
/** How many windows one page reads if few conversations match. */
const WINDOWS_AT_MOST = 8;
const WORDS_AT_MOST = 10;

export type Found = Conversation & { snippet?: string };

/** Removes line ends and repeated spaces, which would shorten the visible excerpt. */
const snippetOf = ({ excerpt, isCut }: Hit): string =>
  `${isCut ? '…' : ''}${plainText(excerpt).replace(/\s+/g, ' ').trim()}`;

const wordsOf = (query: string): string[] =>
  query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_AT_MOST);

const positionOf = ({ id, isPinned, updatedAt: at }: Conversation): ListPosition => ({ isPinned, at, id });

/**
 * Finds conversations whose title, or one of whose newest messages, contains all words. In the order of the list.
 *
 * @returns `end` is how far the search got; null if it searched everything
 */
export async function searchConversations(
  db: Db,
  owner: Owner,
  query: string,
  limit: number,
  from?: ListPosition,
  source?: Source,
): Promise<{ found: Found[]; end: ListPosition | null }> {
  const words = wordsOf(query);
  const found: Found[] = [];
  let after = from;
  for (let windows = 0; windows < WINDOWS_AT_MOST && found.length < limit; windows += 1) {
    const seen = await listConversations(db, owner, WINDOW, after, source);
    const hits = await searchMessages(
      db,
      owner.accountId,
      seen.map(({ id }) => id),
      words,
    );
    for (const conversation of seen) {
      const title = conversation.title.toLowerCase();
      const hit = hits.get(conversation.id);
      if (hit) found.push({ ...conversation, snippet: snippetOf(hit) });
      else if (words.every((word) => title.includes(word))) found.push(conversation);
      after = positionOf(conversation);
      if (found.length === limit) break;
    }
    if (seen.length < WINDOW && (found.length < limit || after?.id === seen.at(-1)?.id))
      return { found, end: null };
  }
  return { found, end: after ?? null };
}
