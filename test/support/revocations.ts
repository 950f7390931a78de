/** How soon a revocation on one replica is seen on another that has the key in its cache: reliability test 8. */
import type { Test } from 'tap';
import type { Client } from './http.ts';
import { startCluster } from './replicas.ts';
import { plansFile } from './service.ts';
import { KEY_LOOK_UP, type StatementLog, startLoggingPostgres } from './statement-log.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { eventually } from './upstream/engine.ts';

type Key = { id: string; key: string; cookie: string };

/** Active keys of as many accounts as that takes. */
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

/** Calls with each key until all are served without a look-up. */
export const warm = (client: Client, keys: readonly Key[], log: StatementLog): Promise<void> =>
  eventually(
    'every key is served from the cache',
    async () => {
      const since = log.mark();
      await Promise.all(keys.map(({ key }) => statusOf(client, key)));
      return since.count(KEY_LOOK_UP) === 0;
    },
    30_000,
  );

/**
 * Revokes keys on one replica and calls with each on another until it is refused.
 *
 * @returns how long after the answer to its revocation each was served last, in ms; 0 for those that never were
 */
export async function revokeAndWatch(here: Client, there: Client, keys: readonly Key[]): Promise<number[]> {
  return Promise.all(
    keys.map(async ({ cookie, id, key }) => {
      const { status } = await here.delete(`/keys/${id}`, { cookie });
      if (status !== 204) throw new Error(`The revocation was answered ${status}.`);
      const revokedAt = performance.now();
      let servedAt = revokedAt;
      for (;;) {
        const sentAt = performance.now();
        const answer = await statusOf(there, key);
        if (answer === 'served') servedAt = sentAt;
        else if (answer !== 'apiKeyRevoked') throw new Error(`Unexpected: ${answer}`);
        else if (performance.now() - revokedAt > 1200) return servedAt - revokedAt;
        if (performance.now() - revokedAt > 10_000) return Number.POSITIVE_INFINITY;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }),
  );
}

export type WatchedPair = {
  /** The database's own address. */
  direct: string;
  /** Of both. */
  env: Record<string, string>;
  here: Client;
  /** The way on which the other replica hears of changes. */
  channel: TcpProxy;
  log: StatementLog;
  /**
   * Revokes keys here that are cached there.
   *
   * @param fault - what befalls the channel just before
   */
  measure(t: Test, count: number, fault: () => void): Promise<void>;
};

/** Two replicas, one of which hears of changes through a proxy. */
export async function startWatchedPair(t: Test): Promise<WatchedPair> {
  const log = await startLoggingPostgres();
  t.teardown(() => log.server.drop());
  const channel = await startTcpProxy(log.server.port);
  t.teardown(() => channel.close());
  const direct = log.server.url();
  // Requests per minute without end.
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
      `${count} revoked; ${late.length} were served later, the last of them after ${most} ms`,
    );
  };
  return { direct, env, here, channel, log, measure };
}
