/**
 * Searches messages without an index. An index of all words would cost every stored message more than an account's rare
 * searches cost. Contract section 1.
 */
import { type SQL, sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';

/** The newest messages of a conversation that a search reads. */
const MESSAGES_AT_MOST = 1000;
/** Characters before the first match. The dashboard's list shows an excerpt in two short lines. */
const BEFORE_CHARACTERS = 30;
const EXCERPT_CHARACTERS = 200;

export type Hit = { id: string; excerpt: string; isCut: boolean };

/**
 * Finds the given conversations with a message that contains all words. Returns an excerpt of the newest such message.
 *
 * @param words - in lower case
 */
export async function searchMessages(
  db: Db,
  accountId: string,
  conversationIds: readonly string[],
  words: readonly string[],
): Promise<Map<string, Hit>> {
  if (conversationIds.length === 0) return new Map();
  const content = lowered(sql`m.content`, words);
  const contains = sql.join(
    words.map((word) => sql`strpos(${content}, ${word}) > 0`),
    sql` and `,
  );
  const ids = sql.join(
    conversationIds.map((id) => sql`(${id}::uuid)`),
    sql`, `,
  );
  const hits = await rowsOf<Hit>(
    db,
    sql`
      select requested.id, hit.excerpt, hit.start > 1 as "isCut"
      from (values ${ids}) as requested (id) cross join lateral (
        select substr(m.content, found.start, ${EXCERPT_CHARACTERS}::int) as excerpt, found.start
        from (
          select content, position, id from messages
          where account_id = ${accountId}::uuid and conversation_id = requested.id
          order by position desc, id desc limit ${MESSAGES_AT_MOST}::int
        ) m cross join lateral (
          select greatest(strpos(${content}, ${words[0]}) - ${BEFORE_CHARACTERS}::int, 1) as start
        ) found
        where ${contains}
        order by m.position desc, m.id desc limit 1
      ) hit`,
  );
  return new Map(hits.map((hit) => [hit.id, hit]));
}

/** Lowercases text in SQL. In some locales, Postgres's `lower` only knows ASCII. The letters of the words suffice. */
function lowered(text: SQL, words: readonly string[]): SQL {
  const letters = [...new Set(words.join(''))].filter(
    (letter) => letter > '\x7f' && letter.toUpperCase().length === letter.length,
  );
  if (letters.length === 0) return sql`lower(${text})`;
  const lower = letters.join('');
  return sql`translate(lower(${text}), ${lower.toUpperCase()}, ${lower})`;
}
