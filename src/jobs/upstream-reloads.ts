/** Reloads `UPSTREAMS_FILE` when an operator asks all processes to. Contract section 15. */
import { hostname } from 'node:os';
import type { Db } from '../database/client.ts';
import { answerReload, openReloads, type ReloadOutcome } from '../store/upstream-reloads.ts';
import { loggingOutages, type OutageLog } from '../telemetry/outage-log.ts';

const POLL_MS = 500;

/** Reads the file. Returns an error message if it is invalid, in which case nothing has changed. */
export type Reload = () => string | undefined;

export const outcomeOf = (reload: Reload): ReloadOutcome => ({
  host: hostname(),
  pid: process.pid,
  error: reload() ?? null,
});

/** Polls for reload requests on Postgres. With the embedded database, the command runs in the service's process. */
export class UpstreamReloads {
  readonly #look: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | undefined;

  /** @param processId - the ID under which the process holds its lease */
  constructor(db: Db, processId: string, reload: Reload, log: OutageLog) {
    this.#look = loggingOutages(log, 'Polling for requests to reload UPSTREAMS_FILE', async () => {
      for (const id of await openReloads(db, processId))
        await answerReload(db, id, processId, outcomeOf(reload));
    });
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#underWay ??= this.#look().finally(() => {
        this.#underWay = undefined;
      });
    }, POLL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#underWay;
  }
}
