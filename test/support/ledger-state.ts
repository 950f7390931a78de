/** Queries on the ledger's tables. */
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { openDatabase } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';

/** Waits until no charge is open. Returns how long that took, in milliseconds. Throws after `withinMs`. */
export async function settled(databaseUrl: string, withinMs: number): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const from = performance.now();
  try {
    for (;;) {
      const [row] = await sql<{ open: number }[]>`
        select count(*)::int as open from requests where state = 'admitted'`;
      const tookMs = performance.now() - from;
      if (row?.open === 0) return tookMs;
      if (tookMs > withinMs) throw new Error(`After ${withinMs} ms, ${row?.open} charges are still open.`);
      await sleep(50);
    }
  } finally {
    await sql.end();
  }
}

/** The current differences between counters and charges, as the audit finds them. */
export async function differences(databaseUrl: string): Promise<unknown[]> {
  const database = await openDatabase({ url: databaseUrl, connections: 1 });
  try {
    return (await audit(database.db)).differences;
  } finally {
    await database.close();
  }
}
