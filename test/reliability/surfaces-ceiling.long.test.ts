// All surfaces on three processes with one Postgres share one quota: reliability test 23 across surfaces.
import postgres from 'postgres';
import t from 'tap';
import { openDatabase } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import { startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';

const CEILING = 50;
const REQUESTS = 600;

t.test(
  'of 600 concurrent requests across all surfaces and three replicas, exactly the quota is served',
  async (t) => {
    const upstream = await startUpstream();
    t.teardown(() => upstream.stop());
    const { client, databaseUrl, replicas } = await startCluster(t, {
      count: 3,
      env: { ...plansFile(t, { chat: CEILING }), CHAT_URL: upstream.url },
    });
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);

    const statuses = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, n) => {
        // Each replica gets every surface.
        const surface = surfaces[n % surfaces.length];
        const replica = replicas[Math.floor(n / surfaces.length) % replicas.length];
        if (surface === undefined || replica === undefined)
          throw new Error('The surface or the replica does not exist.');
        const body = surface.body('Hello', { stream: n % 2 === 0 });
        return (await replica.client.post(surface.path, body, { key })).status;
      }),
    );
    t.equal(statuses.filter((status) => status === 200).length, CEILING);
    t.equal(statuses.filter((status) => status === 429).length, REQUESTS - CEILING);
    t.equal((await client.get('/usage', { cookie: owner.cookie })).body.used.chat, CEILING);
    // Far from the limit, a replica calls the engine before the ledger admits, for up to 1/16 of the remaining quota.
    const wasted = (await upstream.calls()).chat - CEILING;
    t.ok(
      wasted <= 3 * Math.floor(CEILING / 16),
      `the engine was called for ${wasted} requests beyond the quota`,
    );

    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    const charges = await sql<{ endpoint: string; count: number }[]>`
    select endpoint, count(*)::int from requests where state = 'final' group by endpoint`;
    await sql.end();
    t.equal(
      charges.reduce((sum, { count }) => sum + count, 0),
      CEILING,
    );
    t.comment(charges.map(({ count, endpoint }) => `${endpoint}: ${count}`).join(', '));
    const database = await openDatabase({ url: databaseUrl, connections: 1 });
    t.same((await audit(database.db)).differences, []);
    await database.close();
  },
);
