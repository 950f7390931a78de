/** Deletes keys and secrets that ended more than a year ago. Contract section 3. */
import { sql } from 'drizzle-orm';
import { BATCH_ROWS, deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { keySecrets } from '../database/tables.ts';

/** Retention of ended keys and the events that name them. Usage history is shorter; usage stays under the key's ID. */
export const ENDED_KEY_DAYS = 365;

const longAgo = sql`ledger_now() - make_interval(days => ${ENDED_KEY_DAYS}::int)`;

async function deleteKeys(db: Db): Promise<number> {
  const [deleted] = await rowsOf<{ count: number }>(
    db,
    sql`
      with picked as materialized (
        select account_id, id from api_keys where least(revoked_at, expires_at) <= (select ${longAgo})
        order by least(revoked_at, expires_at) limit ${BATCH_ROWS}::int for update skip locked
      ), secrets as (
        delete from key_secrets s using picked p where s.account_id = p.account_id and s.key_id = p.id
      ), deleted as (
        delete from api_keys k using picked p where k.account_id = p.account_id and k.id = p.id returning 1
      )
      select count(*)::int as count from deleted`,
  );
  return deleted?.count ?? 0;
}

/** Deletes them in batches. A deleted secret gets the same response as one that never existed. */
export async function deleteEndedKeys(db: Db, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted && (await deleteKeys(db)) === BATCH_ROWS);
  await deleteUpTo(db, keySecrets.endsAt, longAgo, signal);
}
