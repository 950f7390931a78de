/** The stored audit trail. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../src/database/client.ts';

export type StoredEvent = { type: string; address: string | null; detail: string | null };

/** The events of a key, oldest first. */
export const eventsOfKey = (db: Db, keyId: string): Promise<StoredEvent[]> =>
  rowsOf(
    db,
    sql`select type, address, detail from account_events where key_id = ${keyId}::uuid order by at, id`,
  );
