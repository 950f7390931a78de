/** The faults. Each one breaks a part of the cluster, and repairs what an operator or a supervisor would repair. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../support/replicas.ts';
import { bringMidnight, clockBehind, setClocks } from './clocks.ts';
import type { Cluster } from './cluster.ts';
import type { DatabaseNode } from './databases.ts';
import { earlierVersion } from './earlier-version.ts';
import { type Network, setLink } from './network.ts';

export type Fault = {
  /** The name in the table, and the value of `FAULT=` of `make cluster-test`. */
  name: string;
  /** Runs before the load starts, for changes that must not affect requests in flight. */
  prepare?(cluster: Cluster): Promise<void>;
  /** Runs under load. */
  inflict(cluster: Cluster): Promise<void>;
  /** The alerts that must fire. */
  alerts?: readonly string[];
  /** The alerts that must not fire. */
  falseAlerts?: readonly string[];
  /** The number of days on which requests are charged. Default: one. */
  days?: number;
  /** Whether no fault can follow: Patroni does not recognize a Postgres that was started on another day. */
  isLast?: true;
};

/** The time until a supervisor restarts a program. */
const SUPERVISED_MS = 2000;
/** The time until HAProxy notices that a replica is back. */
const SEEN_MS = 2000;

/** Starts a replica as a supervisor would. A replica that cannot reach its database exits, and is restarted. */
async function startAgain(replica: Replica): Promise<void> {
  for (let tries = 30; ; tries -= 1) {
    try {
      return await replica.start();
    } catch (error) {
      if (tries === 0) throw error;
      await sleep(SUPERVISED_MS);
    }
  }
}

/**
 * Restarts one replica after another.
 *
 * @param earlier - the folder of the version to start; default: this version
 */
async function restartInTurn(replicas: readonly Replica[], earlier?: string): Promise<void> {
  for (const replica of replicas) {
    await replica.kill('SIGTERM');
    replica.earlier = earlier;
    await startAgain(replica);
    await sleep(SEEN_MS);
  }
}

const known = (node: DatabaseNode | undefined): DatabaseNode => {
  if (node === undefined) throw new Error('No database currently has this role.');
  return node;
};

/** Disconnects the primary from networks until five seconds after another host is the primary. */
const cutOff = (networks: Network[]) => async (cluster: Cluster) => {
  const { databases, place } = cluster;
  const { host } = known(await databases.primary());
  for (const network of networks) setLink(place.prefix, host, network, false);
  try {
    await databases.elected(host);
    await sleep(5000);
  } finally {
    for (const network of networks) setLink(place.prefix, host, network, true);
  }
};

const noDatabase = ['ParleyDatabaseUnavailable', 'ParleyServerErrors'];

export const faults: Fault[] = [
  { name: 'none', inflict: () => sleep(5000) },
  {
    name: 'replicas killed in turn',
    alerts: ['ParleyDown'],
    async inflict({ replicas }) {
      for (const replica of replicas) {
        await replica.kill('SIGKILL');
        await sleep(SUPERVISED_MS);
        await startAgain(replica);
        await sleep(SEEN_MS);
      }
    },
  },
  {
    name: 'replica crashes again and again',
    alerts: ['ParleyDown', 'ParleyRestarting'],
    async inflict({ replicas: [replica] }) {
      for (let n = 0; n < 4 && replica !== undefined; n += 1) {
        await replica.kill('SIGKILL');
        await sleep(SUPERVISED_MS);
        await startAgain(replica);
        // Prometheus must notice it, too.
        await sleep(SEEN_MS);
      }
    },
  },
  {
    name: 'primary killed',
    alerts: noDatabase,
    async inflict({ databases }) {
      const primary = known(await databases.primary());
      await primary.crash();
      await databases.elected(primary.host);
      primary.patroni.start();
    },
  },
  {
    name: 'PgBouncer killed',
    alerts: ['ParleyDatabaseUnavailable'],
    async inflict({ edge }) {
      await edge.pgbouncer.kill();
      // Long enough for the alert.
      await sleep(5000);
      edge.pgbouncer.start();
    },
  },
  {
    name: 'Redis lost',
    async inflict({ edge }) {
      await edge.redis.kill();
      await sleep(10_000);
      edge.redis.start();
    },
  },
  {
    name: 'synchronous standby paused',
    async inflict({ databases }) {
      const standby = known(await databases.synchronous());
      standby.signalPostgres('SIGSTOP');
      standby.patroni.signal('SIGSTOP');
      await sleep(30_000);
      standby.patroni.signal('SIGCONT');
      standby.signalPostgres('SIGCONT');
    },
  },
  { name: 'primary cut off', alerts: noDatabase, inflict: cutOff(['front', 'back']) },
  // Clients still reach it, and it considers itself the primary until its lease expires.
  { name: 'primary cut off from its standbys', alerts: noDatabase, inflict: cutOff(['back']) },
  {
    name: 'etcd loses its leader',
    async inflict({ databases }) {
      const { etcd } = known(await databases.etcdLeader());
      await etcd.kill();
      await sleep(10_000);
      etcd.start();
    },
  },
  {
    name: 'HAProxy reloaded',
    async inflict({ edge }) {
      for (let n = 0; n < 5; n += 1) {
        edge.haproxy.signal('SIGUSR2');
        await sleep(2000);
      }
    },
  },
  {
    name: '300 ms to the database',
    alerts: ['ParleyLedgerSlow'],
    async inflict({ toDatabase }) {
      // In each direction.
      toDatabase.delay(150);
      await sleep(20_000);
      toDatabase.delay(0);
    },
  },
  {
    name: 'database connections stall',
    alerts: ['ParleyDatabaseUnavailable'],
    async inflict({ toDatabase }) {
      toDatabase.blackHole(true);
      await sleep(8000);
      toDatabase.blackHole(false);
    },
  },
  {
    name: 'connections reset',
    async inflict({ toDatabase, toUpstream }) {
      for (let n = 0; n < 10; n += 1) {
        (n % 2 === 0 ? toDatabase : toUpstream).cut();
        await sleep(500);
      }
    },
  },
  {
    name: 'upstream stalls and resets',
    alerts: ['ParleyUpstreamDown'],
    async inflict({ toUpstream }) {
      toUpstream.blackHole(true);
      await sleep(5000);
      toUpstream.blackHole(false);
      // Often before the response starts.
      for (let n = 0; n < 40; n += 1) {
        toUpstream.cut();
        await sleep(250);
      }
    },
  },
  {
    name: 'clocks 30 s apart',
    async inflict({ databases, place, replicas }) {
      const primary = known(await databases.primary());
      const standbys = databases.nodes.filter((node) => node !== primary).map(({ host }) => host);
      const apart = [...standbys, 'app2', 'app3'].map((host, n) => [host, n % 2 === 0 ? 15 : -15]);
      await setClocks(place, Object.fromEntries(apart));
      const clocks = await Promise.all(replicas.map(({ origin }) => clockBehind(origin)));
      if (Math.max(...clocks) - Math.min(...clocks) < 28_000)
        throw new Error(`The clocks are not apart: ${clocks}.`);
      await sleep(20_000);
      await setClocks(place, Object.fromEntries(apart.map(([host]) => [host, 0])));
    },
  },
  {
    name: 'disk of the primary full',
    alerts: noDatabase,
    async inflict({ databases }) {
      const { dataDir } = known(await databases.primary());
      const filler = path.join(dataDir, 'filler');
      try {
        // dd fails when no space is left.
        execFileSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'], { stdio: 'ignore' });
      } catch {
        await sleep(20_000);
      }
      fs.rmSync(filler);
    },
  },
  {
    name: 'rolling restart',
    falseAlerts: noDatabase,
    inflict: ({ replicas }) => restartInTurn(replicas),
  },
  {
    name: 'rolling restart to an earlier version and back',
    async inflict({ place, replicas }) {
      const folder = earlierVersion(place.folder);
      // Both versions run on the newer version's schema and functions.
      await restartInTurn(replicas, folder);
      await sleep(5000);
      await restartInTurn(replicas);
    },
  },
  {
    name: 'replica and primary killed at once',
    alerts: noDatabase,
    async inflict({ databases, replicas }) {
      const primary = known(await databases.primary());
      const [replica] = replicas as [Replica];
      await Promise.all([primary.crash(), replica.kill('SIGKILL')]);
      await databases.elected(primary.host);
      primary.patroni.start();
      await startAgain(replica);
    },
  },
  {
    name: 'midnight',
    isLast: true,
    days: 2,
    prepare: bringMidnight,
    inflict: () => sleep(15_000),
  },
];
