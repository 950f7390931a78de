/** The audit trail as it is stored. */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../../src/database/client.ts';

export type StoredEvent = { type: string; address: string | null; detail: string | null };

/** What the trail says of a key, the oldest first. */
export const eventsOfKey = (db: Db, keyId: string): Promise<StoredEvent[]> =>
  rowsOf(
    db,
    sql`select type, address, detail from account_events where key_id = ${keyId}::uuid order by at, id`,
  );
