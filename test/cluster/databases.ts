/** Three hosts, each with etcd and with Postgres under Patroni, in strict synchronous mode. */
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { eventually } from '../support/upstream/engine.ts';
import { byClockOf } from './clocks.ts';
import { addressOf, type DatabaseHost, databaseHosts } from './network.ts';
import { onHost, type Place, Program } from './processes.ts';

const run = promisify(execFile);
const BIN = '/usr/lib/postgresql/15/bin';
const DATA_MB = 512;

/** The URL of a host's Postgres, without a pooler or proxy. */
export const directUrl = (host: DatabaseHost): string =>
  `postgres://postgres@${addressOf(host)}:5432/postgres`;

const etcdUrl = (host: DatabaseHost, port = 2379) => `http://${addressOf(host, 'back')}:${port}`;

const parameters = {
  max_connections: 150,
  shared_buffers: '64MB',
  max_wal_size: '64MB',
  min_wal_size: '32MB',
  wal_keep_size: '32MB',
  wal_log_hints: 'on',
  // A file in the data folder, so it is removed with the data even after kill -9.
  dynamic_shared_memory_type: 'mmap',
};

function patroniSettings(host: DatabaseHost, folder: string): object {
  const user = (username: string) => ({ username, password: 'only in namespaces' });
  return {
    scope: 'parley',
    name: host,
    restapi: { listen: '0.0.0.0:8008', connect_address: `${addressOf(host, 'back')}:8008` },
    // Not etcd3: with it, Patroni before 3.0.3 lets an isolated primary take the lock from its successor (its #2689).
    etcd: { hosts: databaseHosts.map((each) => `${addressOf(each, 'back')}:2379`) },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        master_start_timeout: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: { use_pg_rewind: true, use_slots: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: '0.0.0.0:5432',
      connect_address: `${addressOf(host, 'back')}:5432`,
      data_dir: path.join(folder, 'data', 'postgres'),
      bin_dir: path.join(folder, 'bin'),
      pgpass: path.join(folder, 'pgpass'),
      pg_hba: ['local all all trust', 'host all all 0.0.0.0/0 trust', 'host replication all 0.0.0.0/0 trust'],
      authentication: {
        superuser: user('postgres'),
        replication: user('replicator'),
        rewind: user('rewinder'),
      },
      parameters: { unix_socket_directories: folder },
    },
  };
}

/** Links the Postgres programs for Patroni. Only Postgres gets the wrong clock: libfaketime breaks Patroni's sleep. */
function linkPrograms(folder: string, byClock: readonly string[]): void {
  fs.mkdirSync(folder);
  for (const name of fs.readdirSync(BIN)) {
    if (name !== 'postgres') fs.symlinkSync(path.join(BIN, name), path.join(folder, name));
  }
  const words = [...byClock, path.join(BIN, 'postgres')].map((word) => `'${word}'`).join(' ');
  fs.writeFileSync(path.join(folder, 'postgres'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
}

/** A database host: its etcd, Patroni, and Postgres. */
export class DatabaseNode {
  readonly host: DatabaseHost;
  readonly dataDir: string;
  readonly etcd: Program;
  readonly patroni: Program;

  constructor(place: Place, host: DatabaseHost) {
    this.host = host;
    const folder = path.join(place.folder, host);
    this.dataDir = path.join(folder, 'data');
    fs.mkdirSync(this.dataDir, { recursive: true });
    // A separate file system that the test can fill. Only this run's processes see it, and it disappears with them.
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DATA_MB}m`, 'tmpfs', this.dataDir]);
    linkPrograms(path.join(folder, 'bin'), byClockOf(place, host));
    const settings = path.join(folder, 'patroni.json');
    fs.writeFileSync(settings, JSON.stringify(patroniSettings(host, folder)));
    execFileSync('chown', ['-R', 'postgres:', folder]);
    const cluster = databaseHosts.map((each) => `${each}=${etcdUrl(each, 2380)}`).join(',');
    this.etcd = new Program(place, {
      name: `etcd-${host}`,
      host,
      user: 'postgres',
      command: [
        ...['etcd', '--name', host, '--data-dir', path.join(folder, 'etcd')],
        ...['--listen-peer-urls', etcdUrl(host, 2380), '--initial-advertise-peer-urls', etcdUrl(host, 2380)],
        ...['--listen-client-urls', etcdUrl(host), '--advertise-client-urls', etcdUrl(host)],
        ...['--initial-cluster', cluster, '--log-level', 'warn', '--enable-v2'],
      ],
    });
    this.patroni = new Program(place, {
      name: `patroni-${host}`,
      host,
      user: 'postgres',
      command: ['patroni', settings],
    });
  }

  /** Asks Patroni whether this host is the primary, or the synchronous standby. */
  async is(what: 'primary' | 'sync'): Promise<boolean> {
    try {
      const url = `http://${addressOf(this.host)}:8008/${what}`;
      const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
      await response.body?.cancel();
      return response.status === 200;
    } catch {
      return false;
    }
  }

  /** The process IDs of this host's Postgres, the postmaster first. */
  postgresPids(): number[] {
    const file = path.join(this.dataDir, 'postgres', 'postmaster.pid');
    if (!fs.existsSync(file)) return [];
    const postmaster = Number(fs.readFileSync(file, 'utf8').split('\n')[0]);
    const children = `/proc/${postmaster}/task/${postmaster}/children`;
    if (!fs.existsSync(children)) return [];
    return [postmaster, ...fs.readFileSync(children, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)];
  }

  signalPostgres(signal: NodeJS.Signals): void {
    for (const pid of this.postgresPids()) {
      try {
        process.kill(pid, signal);
      } catch {
        // The process has already exited.
      }
    }
  }

  /** Kills Patroni and Postgres, as a power failure would. The data on disk stays intact. */
  async crash(): Promise<void> {
    await this.patroni.kill();
    this.signalPostgres('SIGKILL');
  }
}

/** The databases of the cluster, with their roles. */
export class Databases {
  readonly nodes: DatabaseNode[];
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
    this.nodes = databaseHosts.map((host) => new DatabaseNode(place, host));
  }

  node(host: DatabaseHost): DatabaseNode {
    return this.nodes.find((node) => node.host === host) as DatabaseNode;
  }

  /** Starts etcd and Patroni on each host. Resolves once the databases are healthy. */
  async start(): Promise<void> {
    for (const { etcd } of this.nodes) etcd.start();
    await eventually('etcd has a leader', async () => (await this.etcdLeader()) !== undefined);
    for (const { patroni } of this.nodes) patroni.start();
    await this.healthy(120_000);
  }

  /** Waits until there are a primary and two streaming standbys, one of them synchronous. */
  async healthy(withinMs = 90_000): Promise<void> {
    await eventually(
      'there are a primary and two streaming standbys',
      async () => {
        const primary = await this.primary();
        if (primary === undefined) return false;
        const sql = postgres(directUrl(primary.host), { max: 1, connect_timeout: 2, onnotice: () => {} });
        try {
          const rows = await sql<{ sync_state: string }[]>`
            select sync_state from pg_stat_replication where state = 'streaming'`;
          return rows.length === 2 && rows.some(({ sync_state }) => sync_state === 'sync');
        } catch {
          return false;
        } finally {
          await sql.end({ timeout: 1 });
        }
      },
      withinMs,
    );
  }

  /** The host that is the primary; undefined if there is none at the moment. */
  async primary(): Promise<DatabaseNode | undefined> {
    const are = await Promise.all(this.nodes.map((node) => node.is('primary')));
    return this.nodes[are.indexOf(true)];
  }

  /** Waits until a host other than `former` is the primary. */
  async elected(former: DatabaseHost): Promise<void> {
    const others = this.nodes.filter(({ host }) => host !== former);
    await eventually(
      `a host other than ${former} is the primary`,
      async () => (await Promise.all(others.map((node) => node.is('primary')))).some(Boolean),
      90_000,
    );
  }

  /** The host that is the synchronous standby; undefined if there is none at the moment. */
  async synchronous(): Promise<DatabaseNode | undefined> {
    const are = await Promise.all(this.nodes.map((node) => node.is('sync')));
    return this.nodes[are.indexOf(true)];
  }

  /** The host whose etcd is the leader; undefined if there is none at the moment. */
  async etcdLeader(): Promise<DatabaseNode | undefined> {
    for (const asked of this.nodes) {
      try {
        const [program, ...args] = [
          ...onHost(this.#place, asked.host),
          ...['etcdctl', '--command-timeout=2s', `--endpoints=${etcdUrl(asked.host)}`],
          ...['endpoint', 'status', '-w', 'json'],
        ] as [string, ...string[]];
        const { stdout } = await run(program, args, { env: { ...process.env, ETCDCTL_API: '3' } });
        const [{ Status }] = JSON.parse(stdout);
        if (Status.leader === Status.header.member_id) return asked;
      } catch {
        // This host is down.
      }
    }
    return undefined;
  }
}
