/** Requests that run in this process. Any other process can stop them. Contract section 16. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../database/client.ts';
import { Stop } from '../domain/stop.ts';
import { ApiError } from '../errors.ts';
import { ownerOf } from '../ledger/idempotency.ts';
import type { Owner } from '../store/conversations.ts';
import {
  answerStopRequest,
  askToStop,
  findRequestOfKey,
  openStopRequests,
  type RequestState,
  readStopRequest,
  type StopRequest,
  stateOfRequest,
  withdrawStopRequest,
} from '../store/stop-requests.ts';
import { loggingOutages, type OutageLog } from '../telemetry/outage-log.ts';
import type { Work } from './in-flight.ts';

/** How often a process with running requests checks for requests to stop. */
const POLL_MS = 150;
/** How long the process that runs a request may take to report that it stopped it. */
const ANSWER_MS = 4000;
const ANSWER_POLL_MS = 50;
/** How long that report may take after the request has ended. */
const ENDED_MS = 500;

type Request = Owner & { requestId: string; idempotencyKey: string | undefined };
/** `stop` and `onEnd` are created by the first call that stops the request. */
type Running = Request & { work: Work; stop?: Stop; onEnd?: (() => void)[] };

const alreadyFinished = () => new ApiError('alreadyFinished');

const notStopped = () =>
  new ApiError('serviceUnavailable', {
    message:
      'The process that runs this request did not respond in time, so the request may still be running. Try again.',
  });

export class RunningRequests {
  readonly #database: Database;
  readonly #running = new Map<string, Running>();
  readonly #look: () => Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, log: OutageLog) {
    this.#database = database;
    this.#look = loggingOutages(log, 'Polling for stop requests', () => this.#stopAsked());
  }

  /** @returns a function to call once the request has ended and is recorded */
  begin(request: Request, work: Work): () => void {
    const running: Running = { ...request, work };
    this.#running.set(request.requestId, running);
    // The embedded database has no other processes.
    if (this.#database.kind === 'postgres')
      this.#timer ??= setInterval(() => void this.#look(), POLL_MS).unref();
    return () => {
      for (const resolve of running.onEnd ?? []) resolve();
      if (this.#running.get(request.requestId) === running) this.#running.delete(request.requestId);
    };
  }

  /**
   * Stops the engine, on whichever process it runs, and waits until the end of the request is recorded.
   *
   * @throws ApiError `alreadyFinished`; `serviceUnavailable` if that process does not respond
   * @returns false if the caller has no such request
   */
  async stop(owner: Owner, requestId: string): Promise<boolean> {
    const here = this.#running.get(requestId);
    if (here !== undefined && isVisible(here, owner)) return this.#stopHere(here);
    return this.#stopElsewhere(owner, requestId, await stateOfRequest(this.#database.db, owner, requestId));
  }

  /** Like `stop`, by the request's `Idempotency-Key`. Works before the first output too. */
  async stopByKey(owner: Owner, key: string): Promise<boolean> {
    for (const running of this.#running.values())
      if (running.idempotencyKey === key && isSame(running, owner)) return this.#stopHere(running);
    const { accountId, keyId } = owner;
    const found = await findRequestOfKey(this.#database.db, { accountId, owner: ownerOf(keyId), key });
    return found === undefined ? false : this.#stopElsewhere(owner, found.requestId, found.state);
  }

  async #stopHere(running: Running): Promise<true> {
    running.stop ??= new Stop();
    running.onEnd ??= [];
    const { onEnd, stop, work } = running;
    const ended = new Promise<void>((resolve) => onEnd.push(resolve));
    work.stop(stop);
    await ended;
    if (!stop.isEffective) throw alreadyFinished();
    return true;
  }

  async #stopElsewhere(owner: Owner, requestId: string, state: RequestState | undefined): Promise<boolean> {
    if (state === undefined) return false;
    if (state === 'ended') throw alreadyFinished();
    const { db } = this.#database;
    const request = { accountId: owner.accountId, requestId };
    await askToStop(db, request);
    try {
      const wasStopped = await this.#answerTo(owner, request);
      if (wasStopped === null) throw notStopped();
      if (!wasStopped) throw alreadyFinished();
      return true;
    } finally {
      await withdrawStopRequest(db, request);
    }
  }

  /** Whether the request was stopped. Null if the process that runs it does not respond in time. */
  async #answerTo(owner: Owner, request: StopRequest): Promise<boolean | null> {
    const { db } = this.#database;
    let until = performance.now() + ANSWER_MS;
    let hasEnded = false;
    while (performance.now() < until) {
      await delay(ANSWER_POLL_MS);
      const wasStopped = await readStopRequest(db, request);
      if (wasStopped !== null) return wasStopped;
      if (hasEnded || (await stateOfRequest(db, owner, request.requestId)) === 'running') continue;
      // The request ended on its own, or its process is about to report that it was stopped.
      hasEnded = true;
      until = performance.now() + ENDED_MS;
    }
    return hasEnded ? false : null;
  }

  async #stopAsked(): Promise<void> {
    if (this.#running.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const { db } = this.#database;
    const stopRequests = await openStopRequests(db);
    await Promise.all(
      stopRequests.map(async (request) => {
        const running = this.#running.get(request.requestId);
        if (running === undefined || running.accountId !== request.accountId) return;
        const wasStopped = await this.#stopHere(running).catch(() => false);
        await answerStopRequest(db, request, wasStopped);
      }),
    );
  }
}

const isSame = (one: Owner, other: Owner) => one.accountId === other.accountId && one.keyId === other.keyId;

/** The dashboard can stop all requests of its account. */
const isVisible = (request: Owner, owner: Owner) =>
  owner.keyId === null ? request.accountId === owner.accountId : isSame(request, owner);
