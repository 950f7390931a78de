/** Fills and reads long request logs. */
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../src/database/client.ts';
import type { Body, Client } from './http.ts';

/** Inserts charges of an account: three in each second, back from now, with IDs in random order. */
export const insertCharges = (db: Db, accountId: string, count: number, keyId: string | null = null) =>
  db.execute(sql`
    insert into requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, status)
    select ${accountId}::uuid, ledger_day(at), gen_random_uuid(), ${keyId}::uuid, 'POST /api/v1/search', 'search', 1, 'final',
           ${uuidv7()}::uuid, at, 200
    from generate_series(1, ${count}::int) n, lateral (select ledger_now() - n / 3 * interval '1 second' as at) t`);

/** Inserts refusals of an account: two in each of the last `minutes` minutes, each for a different key. */
export const insertRefusals = (db: Db, accountId: string, minutes: number) =>
  db.execute(sql`
    insert into refusals (account_id, minute, key_id, code, status, count)
    select ${accountId}::uuid, date_trunc('minute', ledger_now()) - n / 2 * interval '1 minute', gen_random_uuid(),
           'quotaExceeded', 429, n
    from generate_series(0, ${minutes * 2}::int) n`);

/**
 * Reads all pages of an account's request log.
 *
 * @param query - query parameters of `GET /requests`
 * @param between - called after each page
 */
export async function readAll(
  client: Client,
  cookie: string,
  query: string,
  between = async () => {},
): Promise<Body[]> {
  const rows: Body[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer: Body = await client.get(`/requests?${query}${cursor && `&cursor=${cursor}`}`, { cookie });
    if (answer.status !== 200) throw new Error(answer.text);
    rows.push(...answer.body.data);
    cursor = answer.body.next_cursor;
    await between();
  }
  return rows;
}
