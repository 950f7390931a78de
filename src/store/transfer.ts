import { eq } from 'drizzle-orm';
import type { Db } from '../database/client.ts';
import { settings } from '../database/tables.ts';

/** The setting that marks a database as the target of a copy, until the rows of both databases match. */
export const TRANSFER = 'transfer';

/** Throws an error with a message for the operator if a part of the data is missing. */
export async function assertWhole(db: Db): Promise<void> {
  const [row] = await db.select().from(settings).where(eq(settings.name, TRANSFER));
  if (row !== undefined)
    throw new Error(
      'this database is the target of an unfinished "parley export" or "parley import". Run that command again until it reports that the rows match.',
    );
}
