// Which keys a process caches, and when it may use the cached copy. Contract section 3, reliability test 10.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Database } from '../../src/database/client.ts';
import { generateApiKey } from '../../src/domain/api-key.ts';
import { KeyLookup } from '../../src/keys/lookup.ts';
import { forge } from '../support/keys.ts';
import { onEachDatabase } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const quiet = { debug: () => {}, info: () => {}, warn: () => {} };

/** A database that counts key lookups and can delay their results. */
function watched(database: Database) {
  const watch = {
    lookUps: 0,
    /** The number of lookups whose result the database has returned. */
    returned: 0,
    held: undefined as Promise<void> | undefined,
    database: {
      ...database,
      prepared: async <Row>(text: string, parameters: unknown[]) => {
        watch.lookUps += 1;
        const rows = await database.prepared<Row>(text, parameters);
        watch.returned += 1;
        await watch.held;
        return rows;
      },
    },
  };
  return watch;
}

onEachDatabase(t, {}, async (t, { app, client, database }) => {
  const owner = await client.signUp();

  /** A key lookup as on another replica: it learns about changes only from the database. */
  const open = async (t: Test) => {
    const watch = watched(database);
    const keyLookup = new KeyLookup(watch.database, app.config.databaseDirectUrl, quiet);
    await keyLookup.start();
    t.teardown(() => keyLookup.stop());
    const isKept = async (key: string) => {
      const before = watch.lookUps;
      await keyLookup.identify(key);
      return watch.lookUps === before;
    };
    const warm = (key: string) => eventually('the key is cached', () => isKept(key), 10_000);
    return { keyLookup, watch, isKept, warm };
  };

  await t.test('a cached key needs no database lookup, even with a wrong secret', async (t) => {
    const { keyLookup, warm, watch } = await open(t);
    const { id, key } = await client.createKey(owner);
    await warm(key);
    const before = watch.lookUps;
    t.match(await keyLookup.identify(key), { keyId: id, isRevoked: false, isExpired: false, plan: 'free' });
    t.equal(await keyLookup.identify(forge(key)), undefined);
    t.equal(watch.lookUps, before);
    await client.delete(`/keys/${id}`, { cookie: owner.cookie });
  });

  await t.test('a key with one changed character is rejected without a database lookup', async (t) => {
    const { keyLookup, warm, watch } = await open(t);
    const { id, key } = await client.createKey(owner);
    await warm(key);
    const before = watch.lookUps;
    const property = fc.asyncProperty(
      fc.nat(key.length - 1),
      fc.string({ minLength: 1, maxLength: 1 }),
      async (position, character) => {
        fc.pre(key[position] !== character);
        const changed = key.slice(0, position) + character + key.slice(position + 1);
        await keyLookup.identify(changed).then(
          () => t.fail(changed),
          ({ code }) => code === 'invalidApiKey' || t.fail(code),
        );
      },
    );
    await fc.assert(property, { numRuns: 500 });
    t.equal(watch.lookUps, before);
    await client.delete(`/keys/${id}`, { cookie: owner.cookie });
  });

  await t.test('an unknown key is not cached', async (t) => {
    const { isKept } = await open(t);
    const { rawKey } = generateApiKey();
    t.equal(await isKept(rawKey), false);
    t.equal(await isKept(rawKey), false);
  });

  await t.test('every relevant change to a key takes effect within a second, whoever makes it', async (t) => {
    const { keyLookup, warm } = await open(t);
    const mine = await client.signUp();
    const { id, key } = await client.createKey(mine);
    const now = async (expected: object, change: () => Promise<unknown>) => {
      await warm(key);
      await change();
      const holds = async () => {
        const found = { ...(await keyLookup.identify(key)) } as Record<string, unknown>;
        return Object.entries(expected).every(([name, value]) => String(found[name]) === String(value));
      };
      await eventually(JSON.stringify(expected), holds, 1000);
    };
    const { db } = database;
    const { cookie } = mine;
    const ofKey = sql`where id = ${id}::uuid`;
    await now({ allowedOrigins: ['https://a.example'] }, () =>
      client.patch(`/keys/${id}`, { allowed_origins: ['https://a.example'] }, { cookie }),
    );
    await now({ plan: 'pro' }, () =>
      client.put('/subscription', { plan: 'pro', billing_period: 'yearly' }, { cookie }),
    );
    await now({ scopes: ['usage'] }, () => db.execute(sql`update api_keys set scopes = '{usage}' ${ofKey}`));
    await now({ isExpired: true }, () => db.execute(sql`update api_keys set expires_at = now() ${ofKey}`));
    await now({ isExpired: false }, () => db.execute(sql`update api_keys set expires_at = null ${ofKey}`));
    await now({ isRevoked: true }, () => db.execute(sql`update api_keys set revoked_at = now() ${ofKey}`));
    await now({ isRevoked: false }, () => db.execute(sql`update api_keys set revoked_at = null ${ofKey}`));
    await now({ isRevoked: true }, () =>
      db.execute(sql`update key_secrets set ends_at = now() where key_id = ${id}::uuid`),
    );
    await db.execute(sql`update key_secrets set ends_at = null where key_id = ${id}::uuid`);
    await now({ isRevoked: true }, () =>
      client.request('DELETE', '/account', { cookie, body: { current_password: mine.password } }),
    );
  });

  await t.test('a change that is rolled back leaves the key cached', async (t) => {
    const { isKept, keyLookup, warm } = await open(t);
    const { id, key } = await client.createKey(owner);
    const other = await client.signUp();
    const later = await client.createKey(other);
    await warm(key);
    await warm(later.key);
    const undone = database.db.transaction(async (tx) => {
      await tx.execute(sql`update api_keys set revoked_at = now() where id = ${id}::uuid`);
      throw new Error('undone');
    });
    await t.rejects(undone);
    // Changes arrive in the order of their commits, so a change of this key would arrive before that of the other one.
    await client.delete(`/keys/${later.id}`, { cookie: other.cookie });
    const hasArrived = async () => (await keyLookup.identify(later.key))?.isRevoked === true;
    await eventually('a later change has arrived', hasArrived);
    t.equal(await isKept(key), true);
    await client.delete(`/keys/${id}`, { cookie: owner.cookie });
  });

  await t.test('10: a lookup result from before a revocation is not cached after it', async (t) => {
    const { keyLookup, warm, watch } = await open(t);
    const [kept, key] = [await client.createKey(owner), await client.createKey(owner)];
    await warm(kept.key);
    let release = () => {};
    watch.held = new Promise((resolve) => {
      release = resolve;
    });
    const before = watch.returned;
    const lookUps: Promise<unknown>[] = [];
    const underWay = keyLookup.identify(key.key);
    await eventually('the database has returned the key', async () => watch.returned > before);
    await client.delete(`/keys/${key.id}`, { cookie: owner.cookie });
    // A revocation drops all keys of the account, so the other key needs a lookup once it has arrived.
    const isForgotten = async () => {
      const earlier = watch.lookUps;
      lookUps.push(keyLookup.identify(kept.key));
      return watch.lookUps > earlier;
    };
    await eventually('the revocation has arrived', isForgotten);
    watch.held = undefined;
    release();
    t.match(await underWay, { isRevoked: false }, 'the lookup started before the revocation');
    await Promise.all(lookUps);
    t.match(await keyLookup.identify(key.key), { isRevoked: true });
    await client.delete(`/keys/${kept.id}`, { cookie: owner.cookie });
  });

  await t.test('a cached key expires at the exact time', async (t) => {
    const { keyLookup, warm, watch } = await open(t);
    const expiresAt = Date.now() + 3000;
    const { key } = await client.createKey(owner, { expires_at: new Date(expiresAt).toISOString() });
    await warm(key);
    const before = watch.lookUps;
    await sleep(expiresAt - Date.now() - 300);
    t.match(await keyLookup.identify(key), { isExpired: false });
    await sleep(expiresAt - Date.now() + 1);
    t.match(await keyLookup.identify(key), { isExpired: true });
    t.ok(watch.lookUps - before < 2, 'served from the cache');
  });
});
