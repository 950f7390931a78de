/** Several processes of the service on one Postgres, as an operator runs them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { Client, type OpenApi } from './http.ts';
import { builtProgram, nodeWithoutTap, typescriptLoader } from './loader.ts';
import { freePort } from './programs.ts';
import { freshDatabase } from './service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const parsed: OpenApi = JSON.parse(fs.readFileSync(`${root}openapi.json`, 'utf8'));
/** The OpenAPI document that clients check responses against. */
export const document = (): OpenApi => parsed;

type Env = Record<string, string>;
/** Where a process runs, if not on this host: its address, and the command prefix that starts it there. */
export type ReplicaPlace = { host: string; port: number; command: readonly string[] };
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** A process of the service that can be killed, paused, and restarted. */
export class Replica {
  readonly #env: Env;
  readonly #document: OpenApi;
  readonly #place: ReplicaPlace | undefined;
  #child: ChildProcess | undefined;
  #port = 0;
  #ended: Promise<Ending> | undefined;
  /** The output of the process, over all its starts. */
  log = '';
  /** The folder of an earlier version. If set, the next start runs its sources. */
  earlier: string | undefined;

  constructor(env: Env, openapi: OpenApi, place?: ReplicaPlace) {
    this.#env = env;
    this.#document = openapi;
    this.#place = place;
    this.#port = place?.port ?? 0;
  }

  get origin(): string {
    return `http://${this.#place?.host ?? '127.0.0.1'}:${this.#port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** A client of this replica. */
  get client(): Client {
    return new Client(this.origin, this.#document);
  }

  /** Starts the replica, on the same port as before. Resolves once it listens. */
  async start(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    const [shell, args] = nodeWithoutTap(
      `--import=${new URL('./replica-preload.mjs', import.meta.url)}`,
      ...(this.earlier === undefined ? [builtProgram('main')] : [typescriptLoader, 'src/main.ts']),
    );
    const [program, ...rest] = [...(this.#place?.command ?? []), shell, ...args] as [string, ...string[]];
    const child = spawn(program, rest, {
      cwd: this.earlier ?? root,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        ...this.#env,
        PORT: String(this.#port),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
    const from = this.log.length;
    const listening = new Promise<void>((resolve) => {
      const read = (chunk: Buffer) => {
        this.log += chunk;
        if (/ is running at http:\/\/[^:\s]+:\d+/.test(this.log.slice(from))) resolve();
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
    });
    await Promise.race([
      listening,
      this.#ended.then((ending) => {
        throw new Error(`The replica ended with ${JSON.stringify(ending)}:\n${this.log.slice(-3000)}`);
      }),
      sleep(180_000, undefined, { ref: false }).then(() => {
        throw new Error(`The replica did not start:\n${this.log.slice(-3000)}`);
      }),
    ]);
  }

  /** Sends a signal. Resolves once the process has exited. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ending> {
    if (this.#ended === undefined) return { code: null, signal: null };
    if (this.isRunning) {
      this.#child?.kill(signal);
      // A paused process handles other signals only after it resumes.
      if (signal !== 'SIGKILL') this.#child?.kill('SIGCONT');
    }
    return this.#ended;
  }

  /** Pauses the replica. Its connections stay open, but it does not respond. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** Resumes the replica after `pause`. */
  resume(): void {
    this.#child?.kill('SIGCONT');
  }
}

export type Cluster = {
  replicas: Replica[];
  /** A client of the first replica. */
  client: Client;
  databaseUrl: string;
};

export type ClusterOptions = {
  count: number;
  env?: Env;
  /** Environment variables for each replica, which override `env`. */
  envs?: Env[];
  /** The database. Default: a new one on the run's Postgres. */
  databaseUrl?: string;
};

/** Starts replicas. When the test ends, they are killed, and a database that was created for them is dropped. */
export async function startCluster(t: Test, options: ClusterOptions): Promise<Cluster> {
  const { count, env = {}, envs = [] } = options;
  let databaseUrl = options.databaseUrl;
  if (databaseUrl === undefined) {
    const database = await freshDatabase('postgres');
    databaseUrl = database.env.DATABASE_URL as string;
    t.teardown(() => database.drop());
  }
  const openapi = document();
  const settings = {
    DATABASE_URL: databaseUrl,
    SESSION_SECRET: 'a secret of the tests, long enough',
    AUTH_ATTEMPTS_PER_MINUTE: '10000',
    CALLS_PER_ACCOUNT: '100000',
    LOG_LEVEL: 'warn',
    ...env,
  };
  const replicas = Array.from({ length: count }, (_, n) => new Replica({ ...settings, ...envs[n] }, openapi));
  t.teardown(async () => {
    await Promise.all(replicas.map((replica) => replica.kill()));
  });
  await Promise.all(replicas.map((replica) => replica.start()));
  const [first] = replicas;
  if (first === undefined) throw new Error('A cluster needs at least one replica.');
  return { replicas, client: first.client, databaseUrl };
}
