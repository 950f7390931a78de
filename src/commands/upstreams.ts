/** `parley upstreams reload`. Contract section 15. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../database/client.ts';
import {
  askToReload,
  type ReloadOutcome,
  reloadOutcomes,
  withdrawReload,
} from '../store/upstream-reloads.ts';
import { CommandError, type DatabaseCommand } from './command.ts';

/** How long processes may take to respond. */
const TIMEOUT_MS = 10_000;
const POLL_MS = 100;

const notRunning = () =>
  new CommandError('No service is running on this database. A service reads UPSTREAMS_FILE when it starts.');

async function reloadEverywhere(db: Db): Promise<(ReloadOutcome | undefined)[]> {
  const id = await askToReload(db);
  try {
    for (const until = performance.now() + TIMEOUT_MS; ; await delay(POLL_MS)) {
      const outcomes = await reloadOutcomes(db, id);
      if (outcomes.length === 0) throw notRunning();
      if (!outcomes.includes(undefined) || performance.now() > until) return outcomes;
    }
  } finally {
    await withdrawReload(db, id);
  }
}

const lineOf = ({ error, host, pid }: ReloadOutcome) =>
  error === null
    ? `Process ${pid} on ${host}: reloaded.`
    : `Process ${pid} on ${host}: not reloaded, and the previous upstreams remain in use. ${error}`;

const reloadUpstreams: DatabaseCommand = {
  name: 'upstreams reload',
  summary: 'Reload UPSTREAMS_FILE in every process of the running service.',
  parameters: [],
  details: [
    'If UPSTREAMS_FILE is also set for this command, the file is checked first, and a file with errors is not reloaded.',
    'A process that finds errors in its file keeps the previous upstreams, and the exit status is 1.',
  ],
  run: async ({ config, db, reload }) => {
    if (reload === undefined && config.databaseUrl === undefined) throw notRunning();
    const outcomes = reload === undefined ? await reloadEverywhere(db) : [reload()];
    const processes = outcomes.filter((outcome) => outcome !== undefined);
    const unanswered = outcomes.length - processes.length;
    const silent =
      unanswered === 0
        ? []
        : [
            `${unanswered} of ${outcomes.length} processes did not respond. They may be overloaded, run without UPSTREAMS_FILE, or run an earlier version of Parley.`,
          ];
    return {
      text: [...processes.map(lineOf), ...silent],
      value: { processes, unanswered },
      isBad: unanswered > 0 || processes.some(({ error }) => error !== null),
    };
  },
};

export const upstreamCommands: readonly DatabaseCommand[] = [reloadUpstreams];
