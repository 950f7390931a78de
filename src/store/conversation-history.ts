/** Reads the history of a continued conversation, only as far as necessary. Contract section 7. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';
import type { MessagePosition } from './conversations.ts';

export type HistoryMessage = {
  role: 'user' | 'assistant';
  content: string;
  /** The images as `data:` URLs. */
  images?: string[];
};

/** The limits on the history to send. Without `imageBytes`, images are omitted. */
export type HistoryBudget = {
  /** The most code points. Default: no limit. */
  characters?: number;
  /** The most bytes of text, in UTF-8. Default: no limit. */
  textBytes?: number;
  /** How many characters, and bytes of text, an image counts as. */
  imageCharacters: number;
  imageBytes?: number;
  /** Omits this message and all later ones. */
  before?: MessagePosition | undefined;
};

export type History = {
  /** Oldest first. */
  messages: HistoryMessage[];
  included: number;
  omitted: number;
};

const MESSAGES_AT_MOST = 1000;

type Step = {
  position: number;
  id: string;
  role: HistoryMessage['role'];
  content: string | null;
  image_urls: string | null;
};

/**
 * The newest whole messages that fit the budget of code points, bytes of text, and bytes of images. Content that does
 * not fit stays in the database.
 */
export async function readHistory(
  db: Db,
  accountId: string,
  conversationId: string,
  { before, characters, imageBytes, imageCharacters, textBytes }: HistoryBudget,
): Promise<History> {
  const isBefore = before
    ? sql` and (m.position, m.id) < (${before.position}::int, ${before.id}::uuid)`
    : sql.empty();
  const isOf = sql`m.account_id = ${accountId}::uuid and m.conversation_id = ${conversationId}::uuid${isBefore}`;
  const hasImages = imageBytes !== undefined;
  // Postgres knows the length of a value without reading it.
  const bytesOf = hasImages ? sql`coalesce(octet_length(m.image_urls), 0)::bigint` : sql`0::bigint`;
  const charactersOfImages = hasImages
    ? sql`coalesce(jsonb_array_length(m.images), 0) * ${imageCharacters}::bigint`
    : sql`0::bigint`;
  // Counting the characters of a value requires reading it.
  const charactersOf =
    characters === undefined ? sql`0::bigint` : sql`char_length(m.content) + ${charactersOfImages}`;
  const textBytesOf = sql`octet_length(m.content) + ${charactersOfImages}`;
  const imageUrls = hasImages ? sql`m.image_urls` : sql`null::text`;
  const fits = sql`walk.characters <= ${characters ?? 0}::bigint
    and walk.text_bytes <= ${textBytes ?? Number.MAX_SAFE_INTEGER}::bigint
    and walk.bytes <= ${imageBytes ?? 0}::bigint and walk.step <= ${MESSAGES_AT_MOST}::int`;
  const steps = await rowsOf<Step>(
    db,
    sql`
      with recursive walk as (
        (select 1 as step, m.position, m.id, m.role, m.content, ${imageUrls} as image_urls,
                ${charactersOf} as characters, ${textBytesOf} as text_bytes, ${bytesOf} as bytes
         from messages m where ${isOf}
         order by m.position desc, m.id desc limit 1)
        union all
        select walk.step + 1, older.position, older.id, older.role, older.content, older.image_urls,
               walk.characters + older.characters, walk.text_bytes + older.text_bytes, walk.bytes + older.bytes
        from walk cross join lateral (
          select m.position, m.id, m.role, m.content, ${imageUrls} as image_urls,
                 ${charactersOf} as characters, ${textBytesOf} as text_bytes, ${bytesOf} as bytes
          from messages m
          where ${isOf} and (m.position, m.id) < (walk.position, walk.id)
          order by m.position desc, m.id desc limit 1
        ) older
        where ${fits}
      )
      select position, id, role, case when ${fits} then content end as content,
             case when ${fits} then image_urls end as image_urls
      from walk order by step`,
  );
  const messages = steps
    .flatMap(({ content, image_urls: urls, role }) =>
      content === null ? [] : [{ role, content, ...(urls && { images: JSON.parse(urls) as string[] }) }],
    )
    .reverse();
  const last = steps.at(-1);
  const omitted = last === undefined || last.content !== null ? 0 : await countUpTo(db, isOf, last);
  return { messages, included: messages.length, omitted };
}

/** The number of messages up to and including one: its position, or a count if it was stored without a position. */
async function countUpTo(db: Db, isOf: ReturnType<typeof sql>, { id, position }: Step): Promise<number> {
  if (position > 0) return position;
  const [row] = await rowsOf<{ count: number }>(
    db,
    sql`select count(*)::int as count from messages m where ${isOf} and m.position = 0 and m.id <= ${id}::uuid`,
  );
  return row?.count ?? 0;
}
