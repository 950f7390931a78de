// Charges that are admitted from a reading and decided by the ledger on settlement: contract section 5.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { v7 as uuidv7 } from 'uuid';
import { type Database, openDatabase, rowsOf } from '../../src/database/client.ts';
import type { PlanCatalog } from '../../src/domain/plans.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { Admission, Charge } from '../../src/ledger/types.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { shiftClock } from '../support/clock.ts';
import { admitInLedger, failure, outcome, silentLog } from '../support/ledger.ts';
import { databaseKinds, freshDatabase } from '../support/service.ts';

const planOf = (id: string, chat: number) => ({
  ...{ id, name: id, currency: 'USD', monthly_price_cents: 0, yearly_price_cents: 0 },
  limits: { chat, images: null, search: 0 },
  requests_per_minute: 1000,
});
const [large, small] = [planOf('large', 160), planOf('small', 2)];
const plans: PlanCatalog = {
  plans: [large, small],
  standard: large,
  find: (id) => [large, small].find((plan) => plan.id === id),
  of: ({ plan }) => (plan === 'small' ? small : large),
};

const quotaExceeded = { code: 'quotaExceeded' };

for (const kind of databaseKinds) {
  t.test(kind, async (t) => {
    const fresh = await freshDatabase(kind);
    const { DATABASE_URL: url, DATA_DIR: dataDir } = fresh.env;
    const database: Database = await openDatabase(url ? { url } : { dataDir: String(dataDir) });
    const { db } = database;
    const logged: string[] = [];
    const log = { ...silentLog, error: (_: object, message: string) => void logged.push(message) };
    const [ledger, other] = [0, 1].map(() => new Ledger(database, plans, log)) as [Ledger, Ledger];
    await Promise.all([ledger.start(), other.start()]);
    t.teardown(async () => {
      await Promise.all([ledger.stop(), other.stop()]);
      await database.close();
      await fresh.drop();
    });

    const newAccount = async () => {
      const id = uuidv7();
      await db.execute(
        sql`insert into accounts values (${id}, ${id}, ${id}, 'x', 'large', 'monthly', now(), now(), null)`,
      );
      return id;
    };
    const chargeOf = (accountId: string, units = 1): Charge => ({
      ...{ accountId, keyId: null, endpoint: 'POST /x', meter: 'chat', units },
    });
    const setPlan = (accountId: string, plan: string) =>
      db.execute(sql`update accounts set plan = ${plan} where id = ${accountId}`);
    const rows = (accountId: string) =>
      rowsOf<{ state: string; status: number; code: string | null; day: string }>(
        db,
        sql`select state, status, code, day::text from requests where account_id = ${accountId} order by id`,
      );
    const states = async (accountId: string) => (await rows(accountId)).map(({ state }) => state);
    const used = async (accountId: string) => (await ledger.usage(accountId))?.used.chat;
    const isExact = async () => t.same((await audit(db)).differences, []);
    const spend = async (accountId: string, units: number) =>
      other.finalize(await other.admit(chargeOf(accountId, units)), outcome);

    await t.test(
      'a charge admitted from a reading is written once it is final, with its tokens',
      async (t) => {
        const account = await newAccount();
        const admissions = await Promise.all([1, 2, 3].map(() => ledger.admit(chargeOf(account))));
        t.same(await states(account), []);
        t.same(
          admissions.map(({ reading }) => reading?.used),
          [1, 2, 3],
          'charges in flight count as used',
        );
        await Promise.all(admissions.map((admission) => ledger.finalize(admission, outcome)));
        t.same(await states(account), ['final', 'final', 'final']);
        t.match((await ledger.usage(account))?.used, { chat: 3, tokens: 21 });
        await isExact();
      },
    );

    await t.test('charges admitted by the ledger and from readings settle in one batch', async (t) => {
      const account = await newAccount();
      const charge = { ...chargeOf(account, 3), keyId: uuidv7() };
      const admitAll = () =>
        Promise.all([
          ...[1, 2, 3].map(() => ledger.admit(charge)),
          ...[1, 2, 3].map(() => admitInLedger(ledger, charge)),
        ]);
      const [admissions, failed] = [await admitAll(), await admitAll()];
      logged.length = 0;
      await Promise.all([
        ...admissions.map((admission) => ledger.finalize(admission, outcome)),
        ...failed.map((admission) => ledger.refund(admission, failure)),
      ]);
      t.same(logged, [], 'the batch is not rejected');
      t.match((await ledger.usage(account))?.used, { chat: 18, tokens: 42 });
      t.match(
        await rowsOf(
          db,
          sql`select meter, used::int, requests::int from key_usage where account_id = ${account} order by meter`,
        ),
        [
          { meter: 'chat', used: 18, requests: 6 },
          { meter: 'tokens', used: 42, requests: null },
        ],
      );
      await isExact();
    });

    await t.test('a failed request is recorded as refunded and not charged', async (t) => {
      const account = await newAccount();
      const admission = await ledger.admit(chargeOf(account, 4));
      t.equal(await ledger.refund(admission, failure), true);
      await ledger.refund(admission, failure);
      t.match(await rows(account), [{ state: 'refunded', status: 502, code: 'upstreamError' }]);
      t.equal(await used(account), 0);
      await t.rejects(ledger.finalize(admission, outcome), 'the charge is already settled');
      t.same(await states(account), ['refunded']);
      await isExact();
    });

    await t.test('a final charge cannot be refunded, and its tokens are added once', async (t) => {
      const account = await newAccount();
      const admission = await ledger.admit(chargeOf(account));
      await ledger.finalize(admission);
      await ledger.complete(admission, outcome);
      await ledger.complete(admission, outcome);
      t.equal(await ledger.refund(admission, failure), false);
      t.match((await ledger.usage(account))?.used, { chat: 1, tokens: 7 });
      t.same(await states(account), ['final']);
      await isExact();
    });

    await t.test(
      'if others use up the units first, the settlement is refused and the limit is not exceeded',
      async (t) => {
        const account = await newAccount();
        const admissions = await Promise.all(
          [4, 3, 2].map((units) => ledger.admit(chargeOf(account, units))),
        );
        t.same(await states(account), []);
        await spend(account, 157);
        const settled = await Promise.allSettled(
          admissions.map((admission) => ledger.finalize(admission, outcome)),
        );
        t.same(
          settled.map((one) => (one.status === 'rejected' ? one.reason.code : 'final')),
          ['quotaExceeded', 'final', 'quotaExceeded'],
          'three units were left',
        );
        t.equal(await used(account), 160);
        await t.rejects(other.admit(chargeOf(account)), quotaExceeded);
        await isExact();
      },
    );

    await t.test(
      'near the limit, the ledger admits each charge and leaves room for charges in flight',
      async (t) => {
        const account = await newAccount();
        const early = await Promise.all(Array.from({ length: 10 }, () => ledger.admit(chargeOf(account))));
        t.same(await states(account), []);
        const rest = await Promise.allSettled(
          Array.from({ length: 160 }, () => ledger.admit(chargeOf(account))),
        );
        const admitted = rest.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
        t.equal(admitted.length, 150);
        const all: Admission[] = [...early, ...admitted];
        await Promise.all(all.map((admission) => ledger.finalize(admission, outcome)));
        t.equal(await used(account), 160, 'no work was wasted, and no unit is unused');
        await isExact();
      },
    );

    await t.test("charges in flight from the previous day do not reduce today's quota", async (t) => {
      const account = await newAccount();
      const held = await Promise.all(Array.from({ length: 10 }, () => ledger.admit(chargeOf(account))));
      await shiftClock(db, '1 day');
      await spend(account, 155);
      const rest = await Promise.all(Array.from({ length: 5 }, () => ledger.admit(chargeOf(account))));
      await Promise.all([...held, ...rest].map((admission) => ledger.finalize(admission, outcome)));
      t.equal(await used(account), 160);
      await shiftClock(db, '0');
      t.equal(await used(account), 10);
      await isExact();
    });

    await t.test('a reading counts charged units and units in flight once', async (t) => {
      const account = await newAccount();
      const retry = () => ({ key: uuidv7(), fingerprint: 'f' });
      const held = await Promise.all([1, 2, 3].map(() => ledger.admit(chargeOf(account))));
      const decided = (await ledger.admit({ ...chargeOf(account), retry: retry() })) as Admission;
      t.equal(decided.reading?.used, 4, 'three in flight');
      const next = await ledger.admit(chargeOf(account));
      t.equal(next.reading?.used, 5, 'one charged, four in flight');
      const big = (await ledger.admit({ ...chargeOf(account, 100), retry: retry() })) as Admission;
      await ledger.refund(big, failure);
      const last = await ledger.admit(chargeOf(account));
      t.equal(last.reading?.used, 6, 'refunded units no longer count');
      for (const one of [...held, decided, next, last]) await ledger.refund(one, failure);
      t.equal(await used(account), 0);
      await isExact();
    });

    await t.test('concurrent charges from two processes use exactly every unit', async (t) => {
      const accounts = await Promise.all(Array.from({ length: 20 }, newAccount));
      const served = await Promise.all(
        accounts.map(async (account) => {
          const results = await Promise.allSettled(
            Array.from({ length: 190 }, async (_, n) => {
              const of = n % 2 === 0 ? ledger : other;
              await of.finalize(await of.admit(chargeOf(account)), outcome);
            }),
          );
          return results.filter(({ status }) => status === 'fulfilled').length;
        }),
      );
      t.same(
        served,
        accounts.map(() => 160),
      );
      await isExact();
    });

    await t.test(
      'the settlement enforces a lowered plan, and refuses charges of a deleted account',
      async (t) => {
        const [lowered, gone] = [await newAccount(), await newAccount()];
        const admissions = await Promise.all(
          [lowered, gone, lowered, lowered].map((id) => ledger.admit(chargeOf(id))),
        );
        await setPlan(lowered, 'small');
        await db.execute(sql`update accounts set deleted_at = now() where id = ${gone}`);
        const settled = await Promise.allSettled(
          admissions.map((admission) => ledger.finalize(admission, outcome)),
        );
        t.same(
          settled.map((one) => (one.status === 'rejected' ? one.reason.code : 'final')),
          ['final', 'sessionRequired', 'final', 'quotaExceeded'],
        );
        t.same(await states(gone), []);
        await t.rejects(ledger.admit(chargeOf(lowered)), quotaExceeded);
        await t.rejects(ledger.admit(chargeOf(gone)), { code: 'sessionRequired' });
        await isExact();
      },
    );

    await t.test(
      'a meter with a limit of 0 is refused, and a meter without a limit is admitted',
      async (t) => {
        const account = await newAccount();
        await t.rejects(ledger.admit({ ...chargeOf(account), meter: 'search' }), quotaExceeded);
        await ledger.finalize(await ledger.admit({ ...chargeOf(account, 9999), meter: 'images' }), outcome);
        t.equal((await ledger.usage(account))?.used.images, 9999);
      },
    );

    await t.test(
      'a charge admitted before midnight and settled after it counts on the previous day',
      async (t) => {
        const account = await newAccount();
        const [charged, failed] = [
          await ledger.admit(chargeOf(account)),
          await ledger.admit(chargeOf(account)),
        ];
        await shiftClock(db, '1 day');
        t.teardown(() => shiftClock(db, '0'));
        await ledger.finalize(charged, outcome);
        await ledger.refund(failed, failure);
        await spend(account, 1);
        const days = (await rows(account)).map(({ day }) => day);
        t.equal(days[0], charged.day);
        t.equal(days[1], charged.day);
        t.not(days[2], charged.day);
        t.equal(await used(account), 1, 'today');
        await isExact();
      },
    );
  });
}
