// The ledger's periodic jobs log one line when an outage starts, and one when it ends.
import t from 'tap';
import { loggingOutages } from '../../src/telemetry/outage-log.ts';
import { Gate } from '../support/gate.ts';
import { admitInLedger, failure, newLedger, start, startLedger, until } from '../support/ledger.ts';

/** A log that records its lines. */
function recorder() {
  const lines: string[] = [];
  const log = {
    error: (_details: object, message: string) => void lines.push(`error: ${message}`),
    info: (message: string) => void lines.push(`info: ${message}`),
  };
  return { lines, log };
}

t.test('a process ends its lease when it stops, even if a renewal is in flight', async (t) => {
  const { database } = await start(t);
  const sent: string[] = [];
  const [onItsWay, network] = [new Gate(), new Gate()];
  onItsWay.hold();
  const run: typeof database.run = async (text, values) => {
    if (!text.includes('ledger_renew_lease')) return database.run(text, values);
    const isRenewal = Number(values[1]) > 0;
    if (isRenewal && sent.length === 1) {
      network.hold();
      onItsWay.release();
      await network.pass();
    }
    sent.push(isRenewal ? 'renewal' : 'end');
    return database.run(text, values);
  };
  const ledger = await startLedger(t, { ...database, run });
  await onItsWay.pass();
  const stopped = ledger.stop();
  await new Promise(setImmediate);
  network.release();
  await stopped;
  t.same(sent, ['renewal', 'renewal', 'end']);
});

t.test('an outage logs two lines, however often the job fails', async (t) => {
  const { lines, log } = recorder();
  let isBroken = false;
  const run = loggingOutages(log, 'The work', async () => {
    if (isBroken) throw new Error('no');
  });
  for (const next of [false, true, true, true, false, false, true]) {
    isBroken = next;
    await run();
  }
  t.same(lines, [
    'error: The work failed. Retrying until it succeeds.',
    'info: The work has recovered.',
    'error: The work failed. Retrying until it succeeds.',
  ]);
});

t.test(
  'a database outage logs the failure and the recovery of the lease, the sweep, and delayed settlements',
  async (t) => {
    const { charge, database, proxy, states } = await start(t);
    const { lines, log } = recorder();
    const failures = { ledger_renew_lease: 0, ledger_sweep: 0, ledger_settle: 0 };
    const names = Object.keys(failures) as (keyof typeof failures)[];
    const run: typeof database.run = (text, values) =>
      database.run<never>(text, values).catch((error: unknown) => {
        for (const name of names) if (text.includes(name)) failures[name] += 1;
        throw error;
      });
    const ledger = await startLedger(t, { ...database, run }, log);
    const admission = await ledger.admit(charge);
    proxy.refuse();
    await ledger.refund(admission, failure);
    const works = ['Renewing the ledger lease', 'Sweeping the ledger', 'Settling delayed charges'];
    const ofKind = (kind: string) => lines.filter((line) => line.startsWith(kind)).length;
    await until(t, 'all three failures are logged', 20_000, async () => ofKind('error') === works.length);
    const before = { ...failures };
    await until(t, 'all three jobs fail again', 30_000, async () =>
      names.every((name) => failures[name] > before[name]),
    );
    proxy.accept();
    await until(t, 'all three recoveries are logged', 20_000, async () => ofKind('info') === works.length);
    t.same(
      lines.filter((line) => line.startsWith('error')).sort(),
      [...works.map((work) => `error: ${work} failed. Retrying until it succeeds.`)].sort(),
    );
    t.same(
      lines.filter((line) => line.startsWith('info')).sort(),
      works.map((work) => `info: ${work} has recovered.`).sort(),
    );
    t.same(await states(), ['refunded']);
  },
);

t.test(
  'a shutdown during an outage logs how many charges are not settled and what happens to them',
  async (t) => {
    const { charge, database, proxy } = await start(t);
    const { lines, log } = recorder();
    const ledger = newLedger(database, log);
    const [first, second] = [await admitInLedger(ledger, charge), await admitInLedger(ledger, charge)];
    proxy.refuse();
    await Promise.all([ledger.refund(first, failure), ledger.refund(second, failure)]);
    await ledger.stop();
    t.same(lines, [
      'error: Shut down with 2 unsettled charges. The next sweep of the ledger, by any process, refunds those that are still open. The others stay charged, without their final details.',
      'error: Could not end the ledger lease. It expires within 20 seconds. Then another process refunds open charges.',
    ]);
  },
);

t.test('a shutdown after all charges are settled logs nothing', async (t) => {
  const { charge, database, states } = await start(t);
  const { lines, log } = recorder();
  const ledger = newLedger(database, log);
  await ledger.refund(await admitInLedger(ledger, charge), failure);
  await ledger.stop();
  t.same(lines, []);
  t.same(await states(), ['refunded']);
});
