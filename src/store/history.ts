/** The history of a continued conversation, read only as far as necessary. Contract section 7. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';

export type HistoryMessage = { role: 'user' | 'assistant'; content: string };

export type History = {
  /** Oldest first. */
  messages: HistoryMessage[];
  included: number;
  omitted: number;
};

const MESSAGES_AT_MOST = 1000;

type Step = { position: number; id: string; role: HistoryMessage['role']; content: string | null };

/** The newest whole messages within a budget of code points. Content that does not fit stays in the database. */
export async function readHistory(
  db: Db,
  accountId: string,
  conversationId: string,
  budget: number,
): Promise<History> {
  const isOf = sql`m.account_id = ${accountId}::uuid and m.conversation_id = ${conversationId}::uuid`;
  const steps = await rowsOf<Step>(
    db,
    sql`
      with recursive walk as (
        (select 1 as step, m.position, m.id, m.role, m.content, char_length(m.content)::bigint as characters
         from messages m where ${isOf}
         order by m.position desc, m.id desc limit 1)
        union all
        select walk.step + 1, older.position, older.id, older.role, older.content, walk.characters + char_length(older.content)
        from walk cross join lateral (
          select m.position, m.id, m.role, m.content from messages m
          where ${isOf} and (m.position, m.id) < (walk.position, walk.id)
          order by m.position desc, m.id desc limit 1
        ) older
        where walk.characters <= ${budget}::bigint and walk.step <= ${MESSAGES_AT_MOST}::int
      )
      select position, id, role,
             case when characters <= ${budget}::bigint and step <= ${MESSAGES_AT_MOST}::int then content end as content
      from walk order by step`,
  );
  const messages = steps
    .flatMap(({ content, role }) => (content === null ? [] : [{ role, content }]))
    .reverse();
  const last = steps.at(-1);
  const omitted = last === undefined || last.content !== null ? 0 : await countUpTo(db, isOf, last);
  return { messages, included: messages.length, omitted };
}

/** Messages up to and including one: its position, or a count if it was stored before positions existed. */
async function countUpTo(db: Db, isOf: ReturnType<typeof sql>, { id, position }: Step): Promise<number> {
  if (position > 0) return position;
  const [row] = await rowsOf<{ count: number }>(
    db,
    sql`select count(*)::int as count from messages m where ${isOf} and m.position = 0 and m.id <= ${id}::uuid`,
  );
  return row?.count ?? 0;
}
