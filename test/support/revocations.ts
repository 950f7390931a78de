/** Reliability test 8: how soon a replica that has cached a key rejects it after another replica revokes it. */
import type { Test } from 'tap';
import type { Client } from './http.ts';
import { startCluster } from './replicas.ts';
import { plansFile } from './service.ts';
import { KEY_LOOK_UP, type StatementLog, startLoggingPostgres } from './statement-log.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { eventually } from './upstream/engine.ts';

type Key = { id: string; key: string; cookie: string };

/** Creates active keys, in as many accounts as necessary. */
export async function createKeys(client: Client, count: number): Promise<Key[]> {
  const keys: Key[] = [];
  while (keys.length < count) {
    const owner = await client.signUp();
    const { cookie } = owner;
    for (let n = 0; n < 5 && keys.length < count; n += 1)
      keys.push({ ...(await client.createKey(owner)), cookie });
  }
  return keys;
}

const statusOf = async (client: Client, key: string) => {
  const { body, status } = await client.get('/models', { key });
  return status === 200 ? 'served' : (body.error.code as string);
};

/** Sends requests with each key until the cache has all of them. */
export const warm = (client: Client, keys: readonly Key[], log: StatementLog): Promise<void> =>
  eventually(
    'every key is in the cache',
    async () => {
      const since = log.mark();
      await Promise.all(keys.map(({ key }) => statusOf(client, key)));
      return since.count(KEY_LOOK_UP) === 0;
    },
    30_000,
  );

/**
 * Revokes keys on one replica, and sends requests with each on another for at least 1.2 s, and until it is rejected.
 *
 * @returns for each key, the time from the response to its revocation until the last accepted request, in milliseconds;
 * 0 if none was accepted, and infinity if the key is still accepted after 10 s
 */
export async function revokeAndWatch(here: Client, there: Client, keys: readonly Key[]): Promise<number[]> {
  return Promise.all(
    keys.map(async ({ cookie, id, key }) => {
      const { status } = await here.delete(`/keys/${id}`, { cookie });
      if (status !== 204) throw new Error(`The revocation returned ${status}.`);
      const revokedAt = performance.now();
      let servedAt = revokedAt;
      for (;;) {
        const sentAt = performance.now();
        const answer = await statusOf(there, key);
        if (answer === 'served') servedAt = sentAt;
        else if (answer !== 'apiKeyRevoked') throw new Error(`Unexpected code: ${answer}`);
        else if (performance.now() - revokedAt > 1200) return servedAt - revokedAt;
        if (performance.now() - revokedAt > 10_000) return Number.POSITIVE_INFINITY;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }),
  );
}

export type WatchedPair = {
  /** The URL of the database, without the proxy. */
  direct: string;
  /** The environment variables of both replicas. */
  env: Record<string, string>;
  here: Client;
  /** The proxy through which the other replica receives notifications of changes. */
  channel: TcpProxy;
  log: StatementLog;
  /**
   * Revokes keys on this replica that the other has cached. Asserts that the other rejects each within a second.
   *
   * @param count - the number of keys
   * @param fault - called just before, to inject a fault into the channel
   */
  measure(t: Test, count: number, fault: () => void): Promise<void>;
};

/** Starts two replicas, one of which receives notifications of changes through a proxy. */
export async function startWatchedPair(t: Test): Promise<WatchedPair> {
  const log = await startLoggingPostgres();
  t.teardown(() => log.server.drop());
  const channel = await startTcpProxy(log.server.port);
  t.teardown(() => channel.close());
  const direct = log.server.url();
  // No limit of requests per minute.
  const env = plansFile(t);
  const { client: here, replicas } = await startCluster(t, {
    count: 2,
    databaseUrl: direct,
    env,
    envs: [{}, { DATABASE_DIRECT_URL: direct.replace(/:\d+\//, `:${channel.port}/`) }],
  });
  const there = replicas[1]?.client as Client;

  const measure = async (t: Test, count: number, fault: () => void) => {
    const keys = await createKeys(here, count);
    await warm(there, keys, log);
    fault();
    const served = await revokeAndWatch(here, there, keys);
    const late = served.filter((ms) => ms > 0);
    const most = Math.max(0, ...late).toFixed();
    t.ok(
      served.every((ms) => ms < 1000),
      `${count} keys revoked, ${late.length} of them accepted afterward, for at most ${most} ms`,
    );
  };
  return { direct, env, here, channel, log, measure };
}
