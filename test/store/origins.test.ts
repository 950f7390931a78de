import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { listedOrigins, ORIGINS_PER_QUERY } from '../../src/store/origins.ts';
import { onEachDatabase } from '../support/service.ts';

const KEYS = 20_000;

onEachDatabase(t, {}, async (t, { client, database: { db } }) => {
  const { accountId } = await client.signUp();
  await rowsOf(
    db,
    sql`insert into api_keys (account_id, id, name, scopes, allowed_origins, public_id, created_at)
        select ${accountId}::uuid, gen_random_uuid(), 'Key', '{chat}',
          array['https://a' || n || '.example', 'https://shared.example'], ${randomUUID()}::text || n, now()
        from generate_series(1, ${KEYS}::int) n`,
  );
  const reads = async (tx: typeof db) => {
    const [row] = await rowsOf<{ reads: number }>(
      tx,
      sql`select seq_tup_read::int as reads from pg_stat_xact_user_tables where relname = 'api_keys'`,
    );
    return row?.reads;
  };

  for (const isAnalyzed of [false, true]) {
    await t.test(
      `listedOrigins uses the index and scans no keys, ${isAnalyzed ? 'after' : 'before'} the tables are analyzed`,
      async (t) => {
        if (isAnalyzed) await rowsOf(db, sql`analyze api_keys`);
        for (const count of [1, ORIGINS_PER_QUERY]) {
          const asked = Array.from(
            { length: count },
            (_, n) => `https://${n % 2 ? 'none' : 'a'}${n + 1}.example`,
          );
          await db.transaction(async (tx) => {
            t.same(
              await listedOrigins(tx, asked),
              new Set(asked.filter((origin) => origin.startsWith('https://a'))),
            );
            t.equal(await reads(tx), 0, `${count} origins`);
          });
        }
      },
    );
  }
});
