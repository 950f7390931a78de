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
  /** Whether writes survive kill -9 of the server, as with the default settings of production. Default: false. */
  durable?: boolean;
  /** Default: a free port. */
  port?: number;
  /** A data folder, which may already contain a database. Default: a new one, which is removed with the run. */
  dataDir?: string;
  /** The major version. Default: see `findPostgres`. */
  version?: number;
  /** More settings, such as `{ max_connections: '20', timezone: 'Asia/Tokyo' }`. */
  settings?: Record<string, string>;
};

export type Postgres = PostgresAddress & {
  /** The URL of a database. Default: `postgres`. */
  url(database?: string): string;
  /** Shuts the server down as an operator would. Connections are closed, and data is kept. */
  stop(): Promise<void>;
  /** Kills all processes of the server at once with kill -9. */
  kill(): Promise<void>;
  /** Starts the server again on the same port and data folder. Stops it first if it is running. */
  restart(): Promise<void>;
  /** Pauses all processes of the server (SIGSTOP). Connections stay open, but nothing responds. */
  pause(): void;
  /** Resumes the server after `pause`. */
  resume(): void;
  /** Kills the server, and removes its data. */
  drop(): Promise<void>;
};

const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Starts a separate Postgres on the loopback address, without passwords. It stops with the test run at the latest. */
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
    // The run's watchdog looks for servers in the run's folder.
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
        // The log also contains lines of earlier servers and their processes.
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
    // Until Node.js has reaped the process, its ID is in use, and the next server does not start.
    const isCollected = () => child.exitCode !== null || child.signalCode !== null;
    while (!isCollected() || tree.some(isAlive) || isAttached(memory)) {
      // A process that started in the meantime may wait forever for a lock of a killed one.
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
    // Another process may have taken the port in the meantime.
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

/** The URL of a database on a test server. */
export const postgresUrl = (port: number, database: string) =>
  `postgres://postgres@127.0.0.1:${port}/${database}`;

/** Stops the server that uses a data folder, even if another process started it. */
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

/** The lines of `postmaster.pid`: the first is the server's process ID, and the eighth is its state. */
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

/** The ID of the server's shared memory segment, from the seventh line of `postmaster.pid`. */
const sharedMemoryOf = (dataDir: string): string | undefined => pidFile(dataDir)[6]?.trim().split(/\s+/)[1];

/** The processes that use the segment, whose ID is the inode in their memory maps. */
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
 * Whether any process uses the segment, even one that the server started while it was being killed. Until that process
 * exits, the next server does not start. Always false outside Linux, which does not provide this information.
 */
function isAttached(segment: string | undefined): boolean {
  if (segment === undefined || process.platform !== 'linux') return false;
  const rows = fs.readFileSync('/proc/sysvipc/shm', 'utf8').split('\n');
  const row = rows.map((line) => line.trim().split(/\s+/)).find(([, id]) => id === segment);
  return row !== undefined && row[6] !== '0';
}
