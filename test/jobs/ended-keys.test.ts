import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { Maintenance } from '../../src/jobs/maintenance.ts';
import { shiftClock } from '../support/clock.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';

t.test('maintenance deletes keys and secrets a year after they end', async (t) =>
  onEachDatabase(t, {}, async (t, { client, database, env }) => {
    const { db } = database;
    const maintenance = () =>
      new Maintenance(
        database,
        { databaseDirectUrl: env.DATABASE_URL, requestLogDays: 90 },
        { warn: () => {} },
      ).run();
    const owner = await client.signUp();
    const [revoked, rotated, expiring, kept] = [
      await client.createKey(owner, { name: 'Revoked' }),
      await client.createKey(owner, { name: 'Rotated' }),
      await client.createKey(owner, { expires_at: new Date(Date.now() + 3_600_000).toISOString() }),
      await client.createKey(owner),
    ];
    await client.request('DELETE', `/keys/${revoked.id}`, owner);
    await client.post(`/keys/${rotated.id}/rotate`, {}, owner);
    const status = async (key: string) => {
      const { body } = await client.get('/models', { key });
      return body.error?.code ?? 'works';
    };
    const ids = async () =>
      (await rowsOf<{ id: string }>(db, sql`select id from api_keys order by id`)).map(({ id }) => id);
    const secrets = async () => (await rowsOf(db, sql`select from key_secrets`)).length;

    await shiftClock(db, '364 days');
    await maintenance();
    t.same((await ids()).length, 4, 'no key is deleted before a year');
    t.equal(await secrets(), 5);
    t.equal(await status(revoked.key), 'apiKeyRevoked');
    t.equal(await status(rotated.key), 'apiKeyRevoked', 'a replaced secret');

    await shiftClock(db, '366 days');
    await maintenance();
    t.same(await ids(), [rotated.id, kept.id].toSorted());
    t.equal(await secrets(), 2, 'current secrets remain');
    for (const { key } of [revoked, rotated, expiring]) t.equal(await status(key), 'invalidApiKey');
    t.equal(await status(kept.key), 'works');

    const { data } = (await client.get('/events', owner)).body;
    const event = data.find(({ key_id: id, type }: Body) => id === revoked.id && type === 'keyRevoked');
    t.match(event, { detail: 'Revoked' }, 'the audit trail names the deleted key');
    await shiftClock(db, '0 day');
  }),
);
