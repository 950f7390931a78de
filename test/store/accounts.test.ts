/** Concurrent transactions on an account. They need a real Postgres: the embedded one runs transactions one by one. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import t from 'tap';
import { openDatabase, rowsOf } from '../../src/database/client.ts';
import { createAccount, deleteAccount, findAccount, updatePassword } from '../../src/store/accounts.ts';
import { createKey } from '../../src/store/keys.ts';
import { createSession, listSessions } from '../../src/store/sessions.ts';
import { freshDatabase } from '../support/service.ts';

const { drop, env } = await freshDatabase('postgres');
const { close, db } = await openDatabase({ url: env.DATABASE_URL ?? '' });
t.teardown(async () => {
  await close();
  await drop();
});
const from = { address: '192.0.2.1', userAgent: 'curl/8' };

let count = 0;
const newAccount = () =>
  createAccount(db, { email: `user-${++count}@example.com`, passwordHash: 'old', plan: 'free' }, from);

/** Whether a promise is still pending after 200 ms. */
const waits = (promise: Promise<unknown>) =>
  Promise.race([
    promise.then(
      () => false,
      () => false,
    ),
    sleep(200, true),
  ]);

t.test(
  'a sign-in during a password change waits for it, and the old password starts no session',
  async (t) => {
    const account = await newAccount();
    let signIn: Promise<boolean> | undefined;
    await db.transaction(async (tx) => {
      await updatePassword(tx, account, 'new', from);
      signIn = createSession(db, account, 'secret', from, { isNewDevice: false });
      t.equal(await waits(signIn), true);
    });
    t.equal(await signIn, false);
    t.strictSame(await listSessions(db, account.id), []);
  },
);

t.test('a password change during a sign-in waits for it, and ends the new session', async (t) => {
  const account = await newAccount();
  let change: Promise<unknown> | undefined;
  await db.transaction(async (tx) => {
    t.equal(await createSession(tx, account, `secret ${account.id}`, from, { isNewDevice: false }), true);
    change = updatePassword(db, account, 'new', from);
    t.equal(await waits(change), true);
  });
  t.match(await change, { passwordHash: 'new' });
  t.strictSame(await listSessions(db, account.id), []);
});

t.test('a key created while its account is being deleted is revoked with the account', async (t) => {
  const account = await newAccount();
  const key = {
    accountId: account.id,
    id: randomUUID(),
    name: 'Late',
    scopes: [],
    allowedOrigins: [],
    expiresAt: null,
  };
  let deletion: Promise<boolean> | undefined;
  await db.transaction(async (tx) => {
    await createKey(tx, { ...key, publicId: 'late0001', digest: Buffer.alloc(32) }, from);
    deletion = deleteAccount(db, account);
    t.equal(await waits(deletion), true);
  });
  t.equal(await deletion, true);
  const left = sql`select 1 from api_keys where account_id = ${account.id} and revoked_at is null`;
  t.equal((await rowsOf(db, left)).length, 0);
  await t.rejects(createKey(db, { ...key, publicId: 'late0002', digest: Buffer.alloc(32) }, from), {
    code: 'sessionRequired',
  });
});

t.test('of many concurrent changes to the same password, exactly one succeeds', async (t) => {
  const account = await newAccount();
  const changes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => updatePassword(db, account, `new ${index}`, from)),
  );
  const [made, ...more] = changes.filter((updated) => updated !== undefined);
  t.strictSame(more, []);
  t.equal((await findAccount(db, account.id))?.passwordHash, made?.passwordHash);
});

t.test('of many concurrent sign-ups with one email address, exactly one succeeds', async (t) => {
  const signUps = Array.from({ length: 20 }, (_, index) =>
    createAccount(
      db,
      {
        email: index % 2 === 0 ? 'ada@example.com' : 'Ada@Example.com',
        passwordHash: 'hash',
        plan: 'free',
      },
      from,
    ),
  );
  const outcomes = await Promise.allSettled(signUps);
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  t.ok(outcomes.every((outcome) => outcome.status === 'fulfilled' || outcome.reason.code === 'emailTaken'));
});
