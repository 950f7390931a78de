/** Reads `UPSTREAMS_FILE` again when an operator asks every process to. Contract section 15. */
import { hostname } from 'node:os';
import type { Db } from '../database/client.ts';
import { answerReload, openReloads, type ReloadOutcome } from '../store/upstream-reloads.ts';
import { loggingOutages, type OutageLog } from '../telemetry/outage-log.ts';

const LOOK_MS = 500;

/** Reads the file. Returns what is wrong with it, in which case nothing changed. */
export type Reload = () => string | undefined;

export const outcomeOf = (reload: Reload): ReloadOutcome => ({
  host: hostname(),
  pid: process.pid,
  error: reload() ?? null,
});

/** Looks for requests of commands on Postgres. The embedded database needs none: the command runs in its process. */
export class UpstreamReloads {
  readonly #look: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | undefined;

  /** @param processId - under which the process holds its lease */
  constructor(db: Db, processId: string, reload: Reload, log: OutageLog) {
    this.#look = loggingOutages(log, 'Checking for requests to reload UPSTREAMS_FILE', async () => {
      for (const id of await openReloads(db, processId))
        await answerReload(db, id, processId, outcomeOf(reload));
    });
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#underWay ??= this.#look().finally(() => {
        this.#underWay = undefined;
      });
    }, LOOK_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#underWay;
  }
}
