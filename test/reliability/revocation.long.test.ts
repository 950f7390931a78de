// A key that is revoked on one replica is refused by another, with and without faults: reliability test 8. Contract
// section 3.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { startCluster } from '../support/replicas.ts';
import { createKeys, revokeAndWatch, startWatchedPair, warm } from '../support/revocations.ts';
import { KEY_LOOK_UP } from '../support/statement-log.ts';

const { channel, direct, env, here: client, log, measure } = await startWatchedPair(t);
const ROUNDS = 10;

for (const [title, begin, end] of [
  ['if the channel works', () => {}, () => {}],
  ['even if the channel is closed just before', () => channel.refuse(), () => channel.accept()],
  [
    'even if the channel becomes a black hole just before',
    () => channel.blackHole(true),
    () => channel.blackHole(false),
  ],
  ['even if the channel drops just before, and it reconnects', () => channel.cut(), () => {}],
] as const) {
  t.test(`8: 100 revocations take effect within a second, ${title}`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Varies the time between two echoes.
      await sleep(Math.random() * 250);
      await measure(t, 10, begin);
      end();
    }
  });
}

t.test(
  '8: behind a transaction pooler',
  { skip: !hasPgbouncer() && 'PgBouncer is not installed' },
  async (t) => {
    const pooled = await startPgbouncer(t, direct);

    await t.test(
      'with DATABASE_DIRECT_URL, keys are cached and revocation takes effect within a second',
      async (t) => {
        const { client: there } = await startCluster(t, {
          count: 1,
          databaseUrl: pooled,
          env: { ...env, DATABASE_DIRECT_URL: direct },
        });
        const keys = await createKeys(client, 100);
        await warm(there, keys, log);
        const served = await revokeAndWatch(client, there, keys);
        t.ok(served.every((ms) => ms < 1000));
      },
    );

    await t.test(
      'without DATABASE_DIRECT_URL, keys are never cached and revocation is immediate',
      async (t) => {
        const { client: there, replicas } = await startCluster(t, {
          count: 1,
          databaseUrl: pooled,
          // Another spelling of the pooled URL: with the same spelling, statements would be prepared.
          env: { ...env, DATABASE_DIRECT_URL: `${pooled}?application_name=pooled` },
        });
        const keys = await createKeys(client, 10);
        const [first] = keys;
        // Long enough for the channel to connect several times. It must never be trusted.
        for (const end = Date.now() + 7000; Date.now() < end; ) {
          const since = log.mark();
          await there.get('/models', { key: first?.key ?? '' });
          if (since.count(KEY_LOOK_UP) === 0) t.fail('a request without a key lookup');
          await sleep(50);
        }
        t.same(await revokeAndWatch(client, there, keys), Array(10).fill(0));
        t.match(
          replicas[0]?.log,
          /set DATABASE_DIRECT_URL to the database itself/,
          'the log tells the operator what to set',
        );
      },
    );
  },
);
