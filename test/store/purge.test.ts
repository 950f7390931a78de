import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { chargeDaysOf, purgeDeletedAccounts } from '../../src/store/purge.ts';
import { freshDatabase } from '../support/service.ts';

const fresh = await freshDatabase('postgres');
const database = await openDatabase({ url: String(fresh.env.DATABASE_URL), timeoutMs: 1000 });
const { db } = database;
t.teardown(async () => {
  await database.close();
  await fresh.drop();
});

const account = uuidv7();
await db.execute(
  sql`insert into accounts values (${account}, ${account}, ${account}, 'x', 'pro', 'monthly', now(), now(), now() - interval '1 hour')`,
);
const countOf = async (table: string) =>
  (await rowsOf<{ count: number }>(db, sql`select count(*)::int as count from ${sql.identifier(table)}`))[0]
    ?.count;

t.test('chargeDaysOf lists the days on which an account has charges', async (t) => {
  await db.execute(sql`
    insert into requests (account_id, day, id, endpoint, meter, units, state, process, admitted_at)
    select ${account}::uuid, ledger_day(ledger_now()) + d, gen_random_uuid(), 'x', 'chat', 1, 'final', gen_random_uuid(), ledger_now()
    from unnest(array[0, 0, 0, 2, 5]) d`);
  const days = await rowsOf<{ day: string }>(db, chargeDaysOf(account));
  const [today = ''] = days.map(({ day }) => day);
  t.same(
    days.map(({ day }) => (Date.parse(day) - Date.parse(today)) / 86_400_000),
    [0, 2, 5],
  );
  t.same(await rowsOf(db, chargeDaysOf(uuidv7())), [], 'an account without charges');
});

t.test('a batch that exceeds the statement timeout is retried with fewer rows', async (t) => {
  // Simulates large rows: a statement that deletes more than 300 rows exceeds the one-second timeout.
  await db.execute(sql`
    create function slow() returns trigger language plpgsql as $$
    begin
      if (select count(*) from gone) > 300 then perform pg_sleep(20); end if;
      return null;
    end $$`);
  await db.execute(sql`
    create trigger slow after delete on account_events referencing old table as gone
    for each statement execute function slow()`);
  await db.execute(sql`
    insert into account_events (account_id, id, at, type)
    select ${account}::uuid, gen_random_uuid(), now(), 'signedIn' from generate_series(1, 700)`);
  await purgeDeletedAccounts(db);
  t.equal(await countOf('account_events'), 0);
  t.equal(await countOf('requests'), 0);
  t.equal(await countOf('accounts'), 0);
});
