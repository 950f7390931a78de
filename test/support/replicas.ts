/** Several processes of the service over one real Postgres, as an operator runs them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { Client, type OpenApi } from './http.ts';
import { builtProgram, nodeWithoutTap, typescriptLoader } from './loader.ts';
import { freshDatabase } from './service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const parsed: OpenApi = JSON.parse(fs.readFileSync(`${root}openapi.json`, 'utf8'));
/** What clients check answers against. */
export const document = (): OpenApi => parsed;

type Env = Record<string, string>;
/** Where a process runs, if not on this host: the command that starts it there, and where it is reached. */
export type ReplicaPlace = { host: string; port: number; command: readonly string[] };
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** A process of the service. */
export class Replica {
  readonly #env: Env;
  readonly #document: OpenApi;
  readonly #place: ReplicaPlace | undefined;
  #child: ChildProcess | undefined;
  #port = 0;
  #ended: Promise<Ending> | undefined;
  /** What it wrote, over all its lives. */
  log = '';
  /** The folder of an earlier version, whose sources it runs from its next start on. */
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

  get client(): Client {
    return new Client(this.origin, this.#document);
  }

  /** Starts it, on the port that it had before. Resolves once it listens. */
  async start(): Promise<void> {
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
        const [, port] = / is running at http:\/\/[^:\s]+:(\d+)/.exec(this.log.slice(from)) ?? [];
        if (port === undefined) return;
        // With a place, that is its public address.
        if (this.#place === undefined) this.#port = Number(port);
        resolve();
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

  /** Sends a signal; resolves once the process has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ending> {
    if (this.#ended === undefined) return { code: null, signal: null };
    if (this.isRunning) {
      this.#child?.kill(signal);
      // A process that is stopped ends only when it goes on.
      if (signal !== 'SIGKILL') this.#child?.kill('SIGCONT');
    }
    return this.#ended;
  }

  /** Freezes it: its connections stay open and nothing answers. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }
}

export type Cluster = {
  replicas: Replica[];
  /** Of the first. */
  client: Client;
  databaseUrl: string;
};

export type ClusterOptions = {
  count: number;
  env?: Env;
  /** For each replica, over `env`. */
  envs?: Env[];
  /** A database of the test's own; default: a fresh one of the run's Postgres. */
  databaseUrl?: string;
};

/** Starts replicas; they are killed, and a database of their own dropped, when the test ends. */
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
  if (first === undefined) throw new Error('A cluster has at least one replica.');
  return { replicas, client: first.client, databaseUrl };
}
