/** Deletes expired data, creates the ledger's partitions, and builds missing indexes. Contract sections 9 to 11. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, type Db, mayHaveTakenEffect, wasNotSent } from '../database/client.ts';
import { buildIndexes } from '../database/indexes.ts';
import { underMaintenanceLock } from '../database/maintenance-lock.ts';
import { dropOldPartitions, makePartitions } from '../database/partitions.ts';
import { deleteKeptUsage } from '../store/carried-usage.ts';
import { deleteEndedKeys } from '../store/ended-keys.ts';
import { deleteOldEvents } from '../store/events.ts';
import { deleteOldIdempotencyKeys } from '../store/ledger.ts';
import { deleteOldOperatorLog } from '../store/operator-log.ts';
import { purgeDeletedAccounts } from '../store/purge.ts';
import { deleteOldRefusals } from '../store/refusals.ts';
import { deleteOldResponses } from '../store/responses.ts';
import { deleteEndedSessions } from '../store/sessions.ts';
import { readSetting, writeSetting } from '../store/settings.ts';
import { deleteOldStopRequests } from '../store/stop-requests.ts';
import { deleteOldMessages } from '../store/webhook-messages.ts';

const MINUTE_MS = 60_000;
/** An unresponsive database must not keep the process from exiting. */
const STOP_MS = 2000;
const HOURLY_MINUTES = 60;

type Log = { warn(details: object, message: string): void };

export type MaintenanceConfig = {
  databaseDirectUrl: string | undefined;
  requestLogDays: number;
};

type JobContext = Pick<Database, 'kind'> & { daysKept: number; signal: AbortSignal };
type Job = (db: Db, context: JobContext) => Promise<unknown>;

/** Jobs that run every minute in every process. Names complete "Maintenance could not …". */
const minuteJobs: Readonly<Record<string, Job>> = {
  'remove the data of deleted accounts': (db, { signal }) => purgeDeletedAccounts(db, signal),
};

/** Jobs that run every hour in one process at a time, with the same kind of names. */
export const jobs: Readonly<Record<string, Job>> = {
  'create ledger partitions for upcoming days': makePartitions,
  'remove old ledger partitions': (db, { daysKept, kind }) => dropOldPartitions(db, kind, daysKept),
  'build missing indexes': (db, { kind, signal }) => buildIndexes(db, kind, signal),
  'delete old refusals': (db, { daysKept, signal }) => deleteOldRefusals(db, daysKept, signal),
  'delete old idempotency keys': (db, { signal }) => deleteOldIdempotencyKeys(db, signal),
  'delete ended sessions': (db, { signal }) => deleteEndedSessions(db, signal),
  'delete carried-over usage of earlier days': (db, { signal }) => deleteKeptUsage(db, signal),
  'delete old events': (db, { signal }) => deleteOldEvents(db, signal),
  "delete old rows of the operators' log": (db, { signal }) => deleteOldOperatorLog(db, signal),
  'delete stored responses': (db, { signal }) => deleteOldResponses(db, signal),
  'delete old requests to stop': (db, { signal }) => deleteOldStopRequests(db, signal),
  'delete old webhook messages': (db, { signal }) => deleteOldMessages(db, signal),
  'delete keys that ended long ago': (db, { signal }) => deleteEndedKeys(db, signal),
};

/** The dashboard has a text for each name. */
export const jobNames: readonly string[] = Object.keys(jobs);

/** The last result of a job, on any replica. */
export type JobReport = {
  name: string;
  ended_at: string;
  took_ms: number;
  /** Null if the job succeeded. */
  error: string | null;
};

const REPORTS = 'maintenance_reports';
const ERROR_LENGTH = 300;

/** Empty until maintenance has run once. */
export async function readJobReports(db: Db): Promise<JobReport[]> {
  const text = await readSetting(db, REPORTS);
  return text === undefined ? [] : (JSON.parse(text) as JobReport[]);
}

/** The database's message, because Drizzle's wrapper contains every parameter. */
function messageOf(error: unknown): string {
  const root = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return (root instanceof Error ? root.message : String(root)).slice(0, ERROR_LENGTH);
}

export class Maintenance {
  readonly #database: Database;
  readonly #config: MaintenanceConfig;
  readonly #log: Log;
  readonly #stopped = new AbortController();
  #minutes = 0;
  #underWay: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, config: MaintenanceConfig, log: Log) {
    this.#database = database;
    this.#config = config;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => this.#everyMinute(), MINUTE_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped.abort();
    await Promise.race([this.#underWay, delay(STOP_MS, undefined, { ref: false })]);
  }

  get #context(): JobContext {
    const { signal } = this.#stopped;
    return { kind: this.#database.kind, daysKept: this.#config.requestLogDays, signal };
  }

  /**
   * Runs every hourly job, even if others fail, and logs each failure. Rejects only if the database is unreachable.
   *
   * @returns false if another process is running them
   */
  run(): Promise<boolean> {
    const { databaseDirectUrl } = this.#config;
    return underMaintenanceLock(
      this.#database,
      databaseDirectUrl,
      (db) => this.#tidyUp(db),
      this.#stopped.signal,
    );
  }

  async #tidyUp(db: Db): Promise<void> {
    const context = this.#context;
    const reports: JobReport[] = [];
    for (const [name, job] of Object.entries(jobs)) {
      if (context.signal.aborted) return;
      const startedAt = performance.now();
      let problem: string | null = null;
      try {
        await job(db, context);
      } catch (error) {
        // The lock ended with the connection, and the other jobs would fail for the same reason.
        if (wasNotSent(error) || mayHaveTakenEffect(error)) throw error;
        problem = messageOf(error);
        this.#report(error, name, 'an hour');
      }
      const took_ms = Math.round(performance.now() - startedAt);
      reports.push({ name, ended_at: new Date().toISOString(), took_ms, error: problem });
    }
    await writeSetting(db, REPORTS, JSON.stringify(reports));
  }

  #everyMinute(): void {
    const isDue = this.#minutes % HOURLY_MINUTES === 0;
    // Skip this run if the previous one is still in progress.
    if (this.#underWay !== undefined) return;
    this.#minutes += 1;
    this.#underWay = this.#work(isDue).finally(() => {
      this.#underWay = undefined;
    });
  }

  async #work(isDue: boolean): Promise<void> {
    for (const [name, job] of Object.entries(minuteJobs)) {
      try {
        await job(this.#database.db, this.#context);
      } catch (error) {
        this.#report(error, name, 'a minute');
      }
    }
    if (isDue) await this.run().catch((error) => this.#report(error, 'finish', 'an hour'));
  }

  #report(error: unknown, what: string, pause: string): void {
    if (this.#stopped.signal.aborted) return;
    this.#log.warn({ err: error }, `Maintenance could not ${what}. Retrying in ${pause}.`);
  }
}
