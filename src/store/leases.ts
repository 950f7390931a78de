/** The leases of the processes that use the database. Contract section 5. */
import { sql } from 'drizzle-orm';
import { newId } from '../domain/ids.ts';

/** How many characters at the end of a process ID all workers of one service share. */
const SERVICE_DIGITS = 12;

/**
 * Creates the ID of a process. All workers of one service share an ending, so that operators see one replica.
 *
 * @param service - 12 hexadecimal digits
 */
export const processId = (service = ''): string => {
  const id = newId();
  return id.slice(0, id.length - service.length) + service;
};

/** How many services use the database now. All workers of one service count as one. */
export const serviceCount = sql`
  select count(distinct right(process::text, ${sql.raw(String(SERVICE_DIGITS))}))
  from leases where expires_at > ledger_now()`;
