/** The whole cluster, with the proxies through which the tests inject faults. */
import fs from 'node:fs';
import path from 'node:path';
import { Client } from '../support/http.ts';
import { document, Replica } from '../support/replicas.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { startUpstream, type Upstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { Alerts, METRICS_TOKEN } from './alerts.ts';
import { byClockOf } from './clocks.ts';
import { Databases } from './databases.ts';
import { APP_PORT, apiOrigin, Edge, POOLER_PORT, primaryUrl, redisUrl } from './edge.ts';
import { addressOf, appHosts } from './network.ts';
import { onHost, type Place } from './processes.ts';

/** The chat quota of the accounts that are meant to reach it. The others have none. */
export const CEILING = 20;

export type Cluster = {
  place: Place;
  databases: Databases;
  edge: Edge;
  alerts: Alerts;
  replicas: Replica[];
  upstream: Upstream;
  /** The proxy between the replicas and PgBouncer. */
  toDatabase: TcpProxy;
  /** The proxy between the replicas and the upstream. */
  toUpstream: TcpProxy;
  /** Calls the service through HAProxy. */
  client: Client;
  /** Waits until every part of the cluster is up and ready. */
  healthy(): Promise<void>;
};

function plansFile({ folder }: Place): string {
  const plan = (id: string, chat: number | null) => ({
    id,
    name: id,
    currency: 'USD',
    monthly_price_cents: 100,
    limits: { chat, images: null, search: null, embeddings: null },
    requests_per_minute: 1_000_000,
  });
  const file = path.join(folder, 'plans.json');
  fs.writeFileSync(file, JSON.stringify({ data: [plan('small', CEILING), plan('large', null)] }));
  return file;
}

const answers = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Starts all parts of the cluster in the network of `place`. Resolves once they are ready. */
export async function startCluster(place: Place): Promise<Cluster> {
  fs.mkdirSync(path.join(place.folder, 'logs'));
  fs.chmodSync(path.join(place.folder, 'logs'), 0o777);
  const databases = new Databases(place);
  const edge = new Edge(place);
  // A chat takes about half a second, so a fault meets requests at each step.
  const upstream = await startUpstream({ headersDelayMs: 150, chunks: 20, chunkIntervalMs: 15 });
  const here = { host: addressOf('test') };
  const toDatabase = await startTcpProxy(POOLER_PORT, { ...here, targetHost: addressOf('edge') });
  const toUpstream = await startTcpProxy(Number(new URL(upstream.url).port), here);
  edge.start();
  await databases.start();

  const env = {
    DATABASE_URL: `postgres://postgres@${addressOf('test')}:${toDatabase.port}/postgres`,
    DATABASE_DIRECT_URL: primaryUrl,
    REDIS_URL: redisUrl,
    CHAT_URL: `http://${addressOf('test')}:${toUpstream.port}/v1`,
    PLANS_FILE: plansFile(place),
    HOST: '0.0.0.0',
    PUBLIC_URL: apiOrigin,
    TRUST_PROXY: '1',
    SESSION_SECRET: 'a secret of the tests, long enough',
    AUTH_ATTEMPTS_PER_MINUTE: '1000000',
    SIGNUPS_PER_ADDRESS_PER_DAY: '1000000',
    DATABASE_CONNECTIONS: '10',
    LOG_LEVEL: 'warn',
    METRICS_TOKEN,
  };
  const replicas = appHosts.map(
    (host) =>
      new Replica(env, document(), {
        host: addressOf(host),
        port: APP_PORT,
        command: [...onHost(place, host), ...byClockOf(place, host)],
      }),
  );
  await Promise.all(replicas.map((replica) => replica.start()));
  const healthy = async () => {
    await databases.healthy();
    await eventually(
      'every replica is ready',
      async () =>
        (await Promise.all(replicas.map(({ origin }) => answers(`${origin}/readyz`)))).every(Boolean),
      60_000,
    );
    await eventually('HAProxy serves from a replica', () => answers(`${apiOrigin}/readyz`));
  };
  await healthy();
  const alerts = new Alerts(place);
  await alerts.start();
  return {
    ...{ place, databases, edge, alerts, replicas, upstream, toDatabase, toUpstream, healthy },
    client: new Client(apiOrigin, document()),
  };
}
