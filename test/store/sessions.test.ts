import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import {
  createAccount,
  deleteAccount,
  setPlan,
  updateEmail,
  updatePassword,
} from '../../src/store/accounts.ts';
import {
  createSession,
  endListedSession,
  endSession,
  findSession,
  listSessions,
} from '../../src/store/sessions.ts';
import { type DatabaseKind, databaseKinds, freshDatabase } from '../support/service.ts';

const from = { address: '192.0.2.1', userAgent: 'curl/8' };

async function openFresh(t: Test, kind: DatabaseKind) {
  const { drop, env } = await freshDatabase(kind);
  const database = await openDatabase(
    env.DATABASE_URL === undefined ? { dataDir: env.DATA_DIR ?? '' } : { url: env.DATABASE_URL },
  );
  t.teardown(async () => {
    await database.close();
    await drop();
  });
  return database.db;
}

const testSessions = (kind: DatabaseKind) => async (t: Test) => {
  const db = await openFresh(t, kind);

  let count = 0;
  async function newAccount() {
    return createAccount(
      db,
      {
        email: `user-${++count}@example.com`,
        passwordHash: `hash ${count}`,
        plan: 'free',
      },
      from,
    );
  }

  async function newSession() {
    const account = await newAccount();
    const secretId = `secret ${count}`;
    await createSession(db, account, secretId, from, { isNewDevice: false });
    return { account, secretId };
  }

  /** Moves the account's sessions into the past. */
  const age = (accountId: string, created: string, seen: string) =>
    db.execute(
      sql`update sessions set created_at = now() - ${created}::interval, last_seen_at = now() - ${seen}::interval where account_id = ${accountId}`,
    );

  /** How long ago a session was seen, in seconds. */
  async function seenSecondsAgo(t: Test, accountId: string): Promise<number> {
    const rows = await rowsOf<{ seconds: number }>(
      db,
      sql`select extract(epoch from now() - last_seen_at)::int as seconds from sessions where account_id = ${accountId}`,
    );
    t.equal(rows.length, 1);
    return rows[0]?.seconds ?? Number.NaN;
  }

  t.test('a session is found only by its secret ID', async (t) => {
    const { account, secretId } = await newSession();
    t.match(await findSession(db, secretId), { accountId: account.id });
    t.equal(await findSession(db, `${secretId}x`), undefined);
    await endSession(db, secretId);
    t.equal(await findSession(db, secretId), undefined);
  });

  t.test('a session ends 7 days after its last use', async (t) => {
    const { account, secretId } = await newSession();
    await age(account.id, '8 days', '6 days 23 hours 59 minutes');
    t.ok(await findSession(db, secretId));
    await age(account.id, '8 days', '7 days 1 second');
    t.equal(await findSession(db, secretId), undefined);
    t.strictSame(await listSessions(db, account.id), []);
  });

  t.test('a session ends 30 days after it started, even if it is in use', async (t) => {
    const { account, secretId } = await newSession();
    await age(account.id, '29 days 23 hours 59 minutes', '1 minute');
    t.ok(await findSession(db, secretId));
    await age(account.id, '30 days 1 second', '1 minute');
    t.equal(await findSession(db, secretId), undefined);
  });

  t.test('activity is recorded at most once an hour, and keeps a session from expiring', async (t) => {
    const { account, secretId } = await newSession();
    await age(account.id, '1 day', '59 minutes');
    await findSession(db, secretId);
    t.ok((await seenSecondsAgo(t, account.id)) >= 59 * 60, 'not recorded again within the hour');
    await age(account.id, '20 days', '6 days');
    await findSession(db, secretId);
    t.ok((await seenSecondsAgo(t, account.id)) < 60, 'recorded after the hour');
  });

  t.test("a sign-in deletes only the account's expired sessions", async (t) => {
    const { account } = await newSession();
    await age(account.id, '31 days', '1 day');
    await createSession(db, account, 'a second one', from, { isNewDevice: false });
    await createSession(db, account, 'a third one', from, { isNewDevice: false });
    const rows = await rowsOf(db, sql`select 1 from sessions where account_id = ${account.id}`);
    t.equal(rows.length, 2);
  });

  t.test('a sign-in with the old password starts no session after a password change', async (t) => {
    const { account, secretId } = await newSession();
    t.ok(await updatePassword(db, account, 'new hash', from));
    t.equal(await findSession(db, secretId), undefined, 'the password change ends all sessions');
    t.equal(await createSession(db, account, 'too late', from, { isNewDevice: false }), false);
    t.equal(await findSession(db, 'too late'), undefined);
  });

  t.test('an outdated password cannot change the email or password, or delete the account', async (t) => {
    const account = await newAccount();
    t.ok(await updatePassword(db, account, 'new hash', from));
    t.equal(await updateEmail(db, account, 'elsewhere@example.com', from), undefined);
    t.equal(await updatePassword(db, account, 'newer hash', from), undefined);
    t.equal(await deleteAccount(db, account), false);
  });

  t.test('a deleted account has no sessions, cannot start one, and cannot change its plan', async (t) => {
    const { account } = await newSession();
    t.equal(await deleteAccount(db, account), true);
    t.equal((await rowsOf(db, sql`select 1 from sessions where account_id = ${account.id}`)).length, 0);
    t.equal(await deleteAccount(db, account), false);
    t.equal(await createSession(db, account, 'of nobody', from, { isNewDevice: false }), false);
    t.equal(await setPlan(db, account.id, 'plus', 'yearly', from), undefined);
  });

  t.test("sessions are listed newest first, and only the account's owner can end one", async (t) => {
    const { account, secretId } = await newSession();
    await age(account.id, '1 day', '2 hours');
    await createSession(
      db,
      account,
      'elsewhere',
      { address: '2001:db8::1', userAgent: 'Firefox' },
      { isNewDevice: false },
    );
    const [newest, oldest, ...more] = await listSessions(db, account.id);
    t.match(newest, { address: '2001:db8::1', userAgent: 'Firefox' });
    t.match(oldest, { address: '192.0.2.1', userAgent: 'curl/8' });
    t.strictSame(more, []);

    const stranger = await newAccount();
    const id = oldest?.id ?? '';
    t.equal(await endListedSession(db, { accountId: stranger.id, id }, 'sessionEnded', from), false);
    t.ok(await findSession(db, secretId));
    t.equal(await endListedSession(db, { accountId: account.id, id }, 'sessionEnded', from), true);
    t.equal(await endListedSession(db, { accountId: account.id, id }, 'sessionEnded', from), false);
    t.equal(await findSession(db, secretId), undefined);
  });

  t.test('with 500 sessions, a new one ends the least recently used one', async (t) => {
    const { account, secretId } = await newSession();
    await db.execute(sql`
      insert into sessions (account_id, id, digest, created_at, last_seen_at, address, user_agent)
      select ${account.id}::uuid, gen_random_uuid(), decode(md5(n::text || ${account.id}::text), 'hex'),
             now() - n * interval '1 minute', now() - n * interval '1 minute', '192.0.2.1', n::text
      from generate_series(1, 499) n`);
    t.equal((await listSessions(db, account.id)).length, 500);
    await createSession(db, account, `${secretId} again`, from, { isNewDevice: false });
    const left = await rowsOf<{ userAgent: string }>(
      db,
      sql`select user_agent as "userAgent" from sessions where account_id = ${account.id}`,
    );
    t.equal(left.length, 500);
    t.notOk(left.some(({ userAgent }) => userAgent === '499'));
    t.ok(await findSession(db, secretId), 'an older session that is in use continues');
    t.ok(await findSession(db, `${secretId} again`));
  });

  t.test('planChangedAt changes only when the plan or billing period changes', async (t) => {
    const account = await newAccount();
    await db.execute(sql`update accounts set plan_changed_at = '2026-01-01' where id = ${account.id}`);
    const same = await setPlan(db, account.id, 'free', 'monthly', from);
    t.equal(same?.planChangedAt.toISOString(), '2026-01-01T00:00:00.000Z');
    const changed = await setPlan(db, account.id, 'free', 'yearly', from);
    t.ok(Date.now() - (changed?.planChangedAt.getTime() ?? 0) < 60_000);
  });
};

for (const kind of databaseKinds) t.test(kind, testSessions(kind));
