import { type ChildProcess, execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findPostgres, reachableBin, serverUser } from './postgres-binaries.ts';
import { isAlive, processTree, signalAll } from './process-tree.ts';
import { freePort } from './programs.ts';
import { currentRun, type PostgresAddress } from './run-folder.ts';

export type PostgresOptions = {
  /** Writes survive kill -9 of the server as in production (fsync and the rest at their defaults). Default: false. */
  durable?: boolean;
  /** Default: a free one. */
  port?: number;
  /** An existing data folder is used as it is. Default: a new one, removed with the run. */
  dataDir?: string;
  /** Major version; default: see `findPostgres`. */
  version?: number;
  /** Further settings, such as `{ max_connections: '20', timezone: 'Asia/Tokyo' }`. */
  settings?: Record<string, string>;
};

export type Postgres = PostgresAddress & {
  url(database?: string): string;
  /** Ends it in order, as an operator would: connections are cut, what was written is kept. */
  stop(): Promise<void>;
  /** kill -9 of all its processes at once. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data folder, stopping it first where it runs. */
  restart(): Promise<void>;
  /** Freezes all its processes (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its data. */
  drop(): Promise<void>;
};

const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Starts a Postgres of its own on the loopback address, without passwords. It ends with the test run at the latest. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const installation = findPostgres(options.version);
  const user = serverUser();
  const bin = reachableBin(installation, user);
  const { folder } = currentRun();
  const home = fs.mkdtempSync(path.join(folder, 'postgres-'));
  if (user) fs.chownSync(home, user.uid, user.gid);
  const dataDir = options.dataDir ?? home;
  const socketDir = fs.mkdtempSync(path.join(folder, 's-'));
  if (user) fs.chownSync(socketDir, user.uid, user.gid);
  const log = path.join(socketDir, 'log');
  if (dataDir !== home) {
    fs.mkdirSync(dataDir, { recursive: true });
    if (user) fs.chownSync(dataDir, user.uid, user.gid);
    // The run's watch looks for servers in the run's folder.
    fs.rmdirSync(home);
    fs.symlinkSync(path.resolve(dataDir), home);
  }
  if (!fs.existsSync(path.join(dataDir, 'PG_VERSION'))) {
    const args = [
      '-D',
      dataDir,
      '-U',
      'postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
      '--no-sync',
    ];
    await promisify(execFile)(path.join(bin, 'initdb'), args, { ...user, cwd: '/' });
  }

  let port = options.port ?? (await freePort());
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: socketDir,
      max_connections: '200',
      ...(options.durable ? {} : fastSettings),
      ...options.settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const output = fs.openSync(log, 'a');
    const child = spawn(path.join(bin, 'postgres'), ['-D', dataDir, '-p', String(port), ...args], {
      ...user,
      cwd: '/',
      detached: true,
      stdio: ['ignore', output, output],
    });
    fs.closeSync(output);
    child.unref();
    child.once('error', () => {});
    while (!isReady(dataDir, child.pid)) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
        const lines = fs.readFileSync(log, 'utf8').split('\n');
        // The log also has what an earlier server said, and its processes.
        const own = lines.filter((line) => !/^\d/.test(line) || line.includes(`[${child.pid}]`));
        throw new Error(`Postgres did not start on port ${port}:\n${own.slice(-15).join('\n').trim()}`);
      }
      await sleep(10);
    }
    server = child;
  }

  async function end(action: (pid: number) => void): Promise<void> {
    const child = server;
    server = undefined;
    if (child?.pid === undefined) return;
    const tree = processTree(child.pid);
    const memory = sharedMemoryOf(dataDir);
    action(child.pid);
    // Until Node has collected it, the next server finds its process ID in use and does not start.
    const isCollected = () => child.exitCode !== null || child.signalCode !== null;
    while (!isCollected() || tree.some(isAlive) || isAttached(memory)) {
      // A process that began meanwhile may wait forever for a lock that a killed one holds.
      if (isCollected()) signalAll(attachedTo(memory), 'SIGKILL');
      await sleep(10);
    }
  }

  const resume = () => {
    if (server?.pid !== undefined) signalAll(processTree(server.pid).reverse(), 'SIGCONT');
  };
  const stop = () => {
    resume();
    return end((pid) => signalAll([pid], 'SIGINT'));
  };
  const kill = () => end((pid) => signalAll(processTree(pid), 'SIGKILL'));

  try {
    await start();
  } catch (error) {
    if (options.port !== undefined) throw error;
    // Somebody else may have taken the port since it was found to be free.
    port = await freePort();
    await start();
  }

  return {
    port,
    version: installation.version,
    description: `${installation.fullVersion}, ${installation.kind}`,
    dataDir,
    socketDir,
    url: (database = 'postgres') => postgresUrl(port, database),
    stop,
    kill,
    async restart() {
      await stop();
      await start();
    },
    pause() {
      if (server?.pid !== undefined) signalAll(processTree(server.pid), 'SIGSTOP');
    },
    resume,
    async drop() {
      await kill();
      for (const one of [dataDir, socketDir, home]) fs.rmSync(one, { recursive: true, force: true });
    },
  };
}

export const postgresUrl = (port: number, database: string) =>
  `postgres://postgres@127.0.0.1:${port}/${database}`;

/** Ends the server of a data folder, whoever started it. */
export async function stopPostgresIn(dataDir: string): Promise<void> {
  const pid = Number(pidFile(dataDir)[0]);
  if (!pid) return;
  try {
    process.kill(pid, 'SIGQUIT');
  } catch {
    return;
  }
  for (let waited = 0; isAlive(pid) && waited < 10_000; waited += 20) await sleep(20);
}

/** The server writes its process id into the first line of this file and its state into the eighth. */
function pidFile(dataDir: string): string[] {
  try {
    return fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function isReady(dataDir: string, pid: number | undefined): boolean {
  const lines = pidFile(dataDir);
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
}

/** The identifier of the server's shared memory segment, from the seventh line of the same file. */
const sharedMemoryOf = (dataDir: string): string | undefined => pidFile(dataDir)[6]?.trim().split(/\s+/)[1];

/** The processes that use the segment: its identifier is the inode of their map. */
function attachedTo(segment: string | undefined): number[] {
  if (segment === undefined || process.platform !== 'linux') return [];
  const pids = fs.readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      const maps = fs.readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
      return maps.some((line) => line.includes('/SYSV') && line.split(/\s+/)[4] === segment);
    } catch {
      return false;
    }
  });
}

/**
 * True while any process uses the segment, also one that the server started while it was killed: until it
 * ends, the next server does not start. Only Linux tells; elsewhere false.
 */
function isAttached(segment: string | undefined): boolean {
  if (segment === undefined || process.platform !== 'linux') return false;
  const rows = fs.readFileSync('/proc/sysvipc/shm', 'utf8').split('\n');
  const row = rows.map((line) => line.trim().split(/\s+/)).find(([, id]) => id === segment);
  return row !== undefined && row[6] !== '0';
}
