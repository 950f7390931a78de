// Idempotency keys when the database goes down at the wrong moment, or when two attempts run: contract section 10,
// docs/decisions/0010.
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import t, { type Test } from 'tap';
import { type Db, rowsOf } from '../../src/database/client.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Admission, Replay } from '../../src/ledger/types.ts';
import { settleCharges } from '../../src/store/ledger.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { failure, newLedger, outcome, rules, start, startLedger, until } from '../support/ledger.ts';

const unavailable = { code: 'serviceUnavailable' };
const whole = (body: string) => ({ answer: { status: 200, body } });
const newRetry = () => ({ key: randomUUID(), fingerprint: 'f' });

/** Admits a charge with an idempotency key. It must not be a replay. */
async function admit(
  ledger: Ledger,
  charge: Parameters<Ledger['admit']>[0] & { retry: ReturnType<typeof newRetry> },
): Promise<Admission> {
  const admission: Admission | Replay = await ledger.admit(charge);
  if ('answer' in admission) throw new Error('The request is already complete.');
  return admission;
}

type RetriedCharge = Parameters<typeof admit>[1];

/** Retries until the request is no longer in progress (409). */
async function settled(t: Test, ledger: Ledger, charge: RetriedCharge): Promise<Admission | Replay> {
  let answer: Admission | Replay | undefined;
  await until(t, 'the request is no longer in progress', 10_000, async () => {
    answer = await ledger.admit(charge).catch((error) => {
      if (error.code === 'idempotencyInProgress') return undefined;
      throw error;
    });
    return answer !== undefined;
  });
  if (answer === undefined) throw new Error('The request stayed in progress.');
  return answer;
}

/** Retries until the request is no longer in progress (409). It must be resumed, not replayed. */
async function resumed(t: Test, ledger: Ledger, charge: RetriedCharge): Promise<Admission> {
  const admission = await settled(t, ledger, charge);
  if ('answer' in admission) throw new Error('The request is already complete.');
  return admission;
}

/** Expires a lease, as if its process had been paused for too long. */
const endLease = (db: Db, { process }: Ledger) =>
  db.execute(
    sql`update leases set expires_at = ledger_now() - interval '1 second' where process = ${process}`,
  );

for (const answer of ['all of it', undefined]) {
  const ending = answer === undefined ? 'is interrupted' : 'ends';
  t.test(
    `if the database is down when a stream ${ending}, a retry completes without another charge`,
    async (t) => {
      const { charge, database, direct, proxy, states, used } = await start(t);
      const ledger = await startLedger(t, database);
      const retried = { ...charge, retry: newRetry() };
      const admission = await admit(ledger, retried);
      await ledger.finalize(admission);
      proxy.refuse();
      if (answer !== undefined) await t.rejects(ledger.complete(admission, { ...outcome, ...whole(answer) }));
      await t.rejects(ledger.complete(admission, { ...outcome, failure }));
      proxy.accept();
      const again = await settled(t, ledger, retried);
      if ('answer' in again) {
        // The end of the first attempt was still in flight and arrived.
        t.equal(again.answer.body, answer);
        t.match(await used(), [{ used: 1 }, { used: 7 }]);
      } else {
        t.match(again, { id: admission.id, day: admission.day, attempt: String, reading: null });
        await ledger.complete(again, { ...outcome, ...whole('all of it') });
        t.match(await used(), [{ used: 1 }, { used: 14 }]);
      }
      t.same(await ledger.admit(retried), { answer: { status: 200, body: 'all of it' } });
      t.same(await states(), ['final']);
      t.same((await audit(direct.db)).differences, []);
    },
  );
}

t.test(
  'if it is unknown whether a stream is final, the request fails with 503 and a retry resumes it',
  async (t) => {
    const { charge, database, direct, proxy, states, used } = await start(t);
    const ledger = await startLedger(t, database);
    const retried = { ...charge, retry: newRetry() };
    const admission = await admit(ledger, retried);
    proxy.cutAnswerTo('ledger_settle', Number.POSITIVE_INFINITY);
    await t.rejects(ledger.finalize(admission), {
      ...unavailable,
      message: /The request may remain charged/,
    });
    t.ok(proxy.cuts > 10, 'the settlement was retried');
    t.same(await states(), ['final'], 'the request is charged, but nothing was delivered');
    proxy.cutAnswerTo('ledger_settle', 0);
    const again = await resumed(t, ledger, retried);
    t.match(again, { id: admission.id, attempt: String });
    await ledger.finalize(again);
    await ledger.complete(again, { ...outcome, ...whole('all of it') });
    t.same(await ledger.admit(retried), { answer: { status: 200, body: 'all of it' } });
    t.same(await states(), ['final']);
    t.match(await used(), [{ used: 1 }, { used: 7 }]);
    t.same((await audit(direct.db)).differences, []);
  },
);

t.test('a repeated refund does not release the key that a resumed attempt has claimed', async (t) => {
  const { charge, database } = await start(t);
  const ledger = await startLedger(t, database);
  const retried = { ...charge, retry: newRetry() };
  const admission = await admit(ledger, retried);
  await ledger.finalize(admission);
  const { accountId, day, id } = admission;
  const refund = () =>
    settleCharges(
      database,
      [
        {
          ...{ kind: 'refund', account_id: accountId, day, id, status: 503, code: 'serviceUnavailable' },
          ...{ model: null, input_tokens: 0, output_tokens: 0, latency_ms: 0 },
        },
      ],
      rules(ledger.process),
      false,
      1000,
    );
  t.equal((await refund()).size, 0, 'a final charge is not refunded');
  const again = await admit(ledger, retried);
  t.match(again, { id, attempt: String });
  await refund();
  await t.rejects(ledger.admit(retried), { code: 'idempotencyInProgress' });
  await ledger.complete(again, { ...outcome, ...whole('all of it') });
  t.same(await ledger.admit(retried), { answer: { status: 200, body: 'all of it' } });
});

t.test('if the lookup fails after a claim is resumed, the claim is released', async (t) => {
  const { charge, database, proxy, states } = await start(t);
  const ledger = await startLedger(t, database);
  const retried = { ...charge, retry: newRetry() };
  const admission = await admit(ledger, retried);
  await ledger.finalize(admission);
  await ledger.complete(admission, { ...outcome, failure });
  proxy.cutAnswerTo('from "idempotency_keys"', 1);
  await t.rejects(ledger.admit(retried));
  t.equal(proxy.cuts, 1);
  t.match(await resumed(t, ledger, retried), { id: admission.id });
  t.same(await states(), ['final']);
});

/** A stream whose process is presumed dead, and the attempt of another process that resumed it. */
async function twoAttempts(t: Test) {
  const { charge, database, db, direct, states } = await start(t);
  const [slow, other] = [newLedger(database), newLedger(database)];
  const retried = { ...charge, retry: newRetry() };
  const first = await admit(slow, retried);
  await slow.finalize(first);
  await endLease(db, slow);
  const second = await admit(other, retried);
  t.match(second, { id: first.id, attempt: String });
  const stored = async () => {
    t.same(await states(), ['final']);
    t.same((await audit(direct.db)).differences, []);
    const rows = await rowsOf<{ body: string | null }>(db, sql`select body from idempotency_keys`);
    return rows.map(({ body }) => body);
  };
  const end = {
    first: (answer: string) => slow.complete(first, { ...outcome, ...whole(answer) }),
    second: (answer: string) => other.complete(second, { ...outcome, ...whole(answer) }),
  };
  const fail = {
    first: () => slow.complete(first, { ...outcome, failure }),
    second: () => other.complete(second, { ...outcome, failure }),
  };
  return { end, fail, other, retried, stored };
}

for (const [earlier, later] of [
  ['first', 'second'],
  ['second', 'first'],
] as const) {
  t.test(`of two attempts, the one that ends first is stored: the ${earlier}`, async (t) => {
    const { end, fail, other, retried, stored } = await twoAttempts(t);
    await end[earlier]('this one');
    await t.rejects(end[later]('another one'), unavailable);
    await fail[later]();
    t.same(await stored(), ['this one']);
    t.same(await other.admit(retried), { answer: { status: 200, body: 'this one' } });
  });
}

t.test('a stream that fails after another attempt resumed it leaves the key to that attempt', async (t) => {
  const { end, fail, other, retried, stored } = await twoAttempts(t);
  await fail.first();
  await t.rejects(other.admit(retried), { code: 'idempotencyInProgress' });
  await end.second('this one');
  t.same(await stored(), ['this one']);
});

t.test(
  'a failed attempt releases the key, and the attempt that it replaced does not succeed either',
  async (t) => {
    const { end, fail, other, retried, stored } = await twoAttempts(t);
    await fail.second();
    await t.rejects(end.first('another one'), unavailable);
    t.same(await stored(), [null]);
    t.match(await resumed(t, other, retried), { attempt: String });
  },
);

t.test('a charge is resumed at most twice, not counting attempts that never ran', async (t) => {
  const { charge, database, direct, proxy, states } = await start(t);
  const ledger = await startLedger(t, database);
  const retried = { ...charge, retry: newRetry() };
  const first = await admit(ledger, retried);
  await ledger.finalize(first);
  await ledger.complete(first, { ...outcome, failure });
  proxy.cutAnswerTo('from "idempotency_keys"', 1);
  await t.rejects(ledger.admit(retried), 'the lookup fails, so the attempt does not run');
  for (const _attempt of [1, 2]) {
    const attempt = await resumed(t, ledger, retried);
    t.match(attempt, { id: first.id, attempt: String });
    await ledger.complete(attempt, { ...outcome, failure });
  }
  for (const _again of [1, 2]) {
    await t.rejects(ledger.admit(retried), {
      code: 'internalError',
      message: /remains charged/,
      options: { charged: true },
      headers: { 'x-should-retry': 'false' },
    });
  }
  t.same(await states(), ['final']);
  t.same((await audit(direct.db)).differences, []);
});

t.test(
  'if a settlement may have arrived before the database went down, the 503 says that the request may remain charged',
  async (t) => {
    const { charge, database, proxy, states } = await start(t);
    const ledger = await startLedger(t, database);
    const admission = await ledger.admit(charge);
    proxy.cutAnswerTo('ledger_settle', 1);
    const final = ledger.finalize(admission, outcome);
    const told = t.rejects(final, { ...unavailable, message: /The request may remain charged/ });
    await until(t, 'the result is lost', 3000, async () => proxy.cuts === 1);
    proxy.refuse();
    await told;
    t.same(await states(), ['final'], 'the request is charged');
    proxy.accept();
  },
);
