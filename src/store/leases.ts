import { sql } from 'drizzle-orm';

/** Characters at the end of a process ID that the workers of one service have in common. */
const SERVICE_DIGITS = 12;

/** How many services use the database now: the workers of one service count as one. */
export const serviceCount = sql`
  select count(distinct right(process::text, ${sql.raw(String(SERVICE_DIGITS))}))
  from leases where expires_at > ledger_now()`;
