/**
 * The primary of several workers. It starts workers, replaces those that die, forwards signals, and counts everything
 * that workers share. It does not serve requests. Contract sections 11 and 13, docs/decisions/0034-workers.md.
 */
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import { Drain } from '../requests/drain.ts';
import { Channel } from '../workers/channel.ts';
import { GatheredMetrics, type MetricSource } from '../workers/gathered-metrics.ts';
import type { PrimaryMethods, ReadyFacts, WorkerMethods } from '../workers/methods.ts';
import { SharedState } from '../workers/shared-state.ts';
import { UntakenConnections } from '../workers/untaken-connections.ts';
import { GRACE_SECONDS } from './ending.ts';

/** The pause before replacing a worker that died early. It doubles each time. */
const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** A worker that has run this long is replaced at once. */
const HEALTHY_MS = 60_000;
/** Added to a worker's own deadline. */
const TIMEOUT_MS = 2000;

type Log = { info(details: object, message: string): void; error(details: object, message: string): void };

type Member = {
  number: number;
  worker: Worker;
  channel: Channel<WorkerMethods>;
  source: MetricSource;
  connections: UntakenConnections;
  startedAt: number;
  isReady: boolean;
};

/** How a service with several workers ended. */
export type Ending = { code: number };

const exitCode = (code: number | null) => (code === null || code === 0 ? 1 : code);

export class Primary {
  readonly #config: Config;
  readonly #log: Log;
  readonly #state: SharedState;
  readonly #metrics = new GatheredMetrics();
  readonly #drain: Drain;
  readonly #members = new Map<number, Member>();
  readonly #restarts = new Map<number, NodeJS.Timeout>();
  readonly #pauses = new Map<number, number>();
  readonly #service = randomBytes(6).toString('hex');
  readonly #ended: Promise<Ending>;
  #resolveEnded: (ending: Ending) => void = () => {};
  readonly #noticed = new AbortController();
  /** Set once the service is stopping. */
  #code: number | undefined;
  #hasStarted = false;

  constructor(config: Config, log: Log) {
    this.#config = config;
    this.#log = log;
    this.#state = new SharedState(config.bodyMemoryBytes);
    this.#drain = new Drain(config.drainSeconds * 1000, config.readyDelaySeconds * 1000);
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    // Let the primary distribute connections, because the operating system would favor some workers.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /** Resolves when the service has ended. */
  get ended(): Promise<Ending> {
    return this.#ended;
  }

  /**
   * Starts the first worker alone, so that an error of every worker appears only once. Then starts the others.
   *
   * @returns undefined if a worker ended first; `ended` then has the exit code
   */
  async start(): Promise<ReadyFacts | undefined> {
    const first = await this.#begin(1);
    const others = Array.from({ length: this.#config.workers - 1 }, (_, index) => index + 2);
    const all = first && (await Promise.all(others.map((number) => this.#begin(number))));
    if (all?.some((facts) => facts === undefined) !== false) return undefined;
    this.#hasStarted = true;
    return first;
  }

  reload(): void {
    for (const { channel } of this.#members.values()) channel.notify('reload');
  }

  /** On SIGTERM, gives load balancers time to notice. A second one ends that wait, and a third kills the workers. */
  async stopNoticed(): Promise<void> {
    if (this.#code !== undefined) return this.kill();
    if (this.#drain.isUnderWay) return this.#noticed.abort();
    this.#drain.begin();
    for (const { channel } of this.#members.values()) channel.notify('drain');
    await this.#drain.untilNoticed(this.#noticed.signal);
    this.stop();
  }

  /** Shuts down all workers gracefully. */
  stop(code = 0): void {
    if (this.#code !== undefined) {
      this.kill();
      return;
    }
    this.#code = code;
    for (const timer of this.#restarts.values()) clearTimeout(timer);
    for (const { channel, isReady, worker } of this.#members.values()) {
      if (isReady) channel.notify('stop');
      // The worker does not serve yet.
      else worker.process.kill('SIGKILL');
    }
    const ms = (this.#config.drainSeconds + GRACE_SECONDS) * 1000 + TIMEOUT_MS;
    setTimeout(() => this.kill(), ms).unref();
    this.#endIfAlone();
  }

  /** Kills all workers at once. */
  kill(): void {
    this.#code = 1;
    for (const { worker } of this.#members.values()) worker.process.kill('SIGKILL');
  }

  #endIfAlone(): void {
    if (this.#code !== undefined && this.#members.size === 0) this.#resolveEnded({ code: this.#code });
  }

  /** Starts a worker. Resolves once it is ready, or with undefined once it has ended. */
  #begin(number: number): Promise<ReadyFacts | undefined> {
    if (this.#code !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#fork(number, resolve));
  }

  #fork(number: number, onReady: (facts: ReadyFacts | undefined) => void): void {
    const worker = cluster.fork({ PARLEY_WORKER: `${number}/${this.#service}` });
    const state = this.#state.ofWorker();
    const methods: PrimaryMethods = {
      ...state.methods,
      readMetrics: () => this.#readMetrics(),
      notePoll: () => this.#drain.notePoll(),
      isReady: (facts) => {
        member.isReady = true;
        if (this.#hasStarted) this.#log.info({ worker: number }, `Worker ${number} is serving again.`);
        if (this.#drain.isUnderWay) channel.notify('drain');
        onReady(facts);
      },
    };
    const channel = new Channel<WorkerMethods>((messages) => {
      // Messages to a worker that has just died are lost. The `exit` handler below notices its end.
      if (worker.isConnected()) worker.send(messages, () => {});
    }, methods);
    const member: Member = {
      ...{ number, worker, channel, startedAt: performance.now(), isReady: false },
      source: { snapshot: () => channel.ask('snapshot') },
      connections: new UntakenConnections(worker),
    };
    this.#members.set(number, member);
    worker.on('message', (message) => channel.receive(message));
    worker.on('error', (err) =>
      this.#log.error({ err, worker: number }, `Worker ${number} could not be reached.`),
    );
    worker.once('exit', (code, signal) => {
      state.end();
      channel.close();
      this.#metrics.end(member.source);
      this.#members.delete(number);
      const heir = [...this.#members.values()].find(({ isReady }) => isReady);
      member.connections.moveTo(heir?.connections);
      onReady(undefined);
      this.#onExit(member, code, signal);
    });
  }

  #onExit(member: Member, code: number | null, signal: string | null): void {
    if (this.#code !== undefined) {
      // A worker that was not ready was killed on purpose, and served nothing.
      if (code !== 0 && member.isReady && this.#code === 0) this.#code = 1;
      this.#endIfAlone();
    } else if (this.#hasStarted) this.#replace(member, code, signal);
    // The worker's own message explains the reason.
    else this.stop(exitCode(code));
  }

  #replace({ number, startedAt }: Member, code: number | null, signal: string | null): void {
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    const livedLong = performance.now() - startedAt > HEALTHY_MS;
    const pauseMs = livedLong ? 0 : (this.#pauses.get(number) ?? 0);
    this.#pauses.set(number, Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, 2 * pauseMs)));
    this.#log.error({ worker: number, code, signal }, `Worker ${number} ${how}. Restarting it.`);
    this.#restarts.set(
      number,
      setTimeout(() => void this.#begin(number), pauseMs),
    );
  }

  #readMetrics(): Promise<string> {
    return this.#metrics.read(
      [...this.#members.values()].filter(({ isReady }) => isReady).map(({ source }) => source),
    );
  }
}
