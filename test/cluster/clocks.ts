/** Wrong clocks, simulated by libfaketime. A file per host contains the offset, and can change at any time. */
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { appHosts, databaseHosts, type Host } from './network.ts';
import { faketimeLibrary } from './packages.ts';
import type { Place } from './processes.ts';

const fileOf = ({ folder }: Place, host: Host) => path.join(folder, `clock-${host}`);
/** How long programs cache the content of the file. */
const KEPT_SECONDS = 1;
/** How far `bringMidnight` has moved all clocks. */
let aheadSeconds = 0;

/** The command prefix that makes a program use the host's wall clock. The monotonic clock stays unchanged. */
export function byClockOf(place: Place, host: Host): string[] {
  const file = fileOf(place, host);
  if (!fs.existsSync(file)) fs.writeFileSync(file, '+0\n');
  const pids = path.join(place.folder, 'pids');
  if (!fs.existsSync(pids)) fs.writeFileSync(pids, '');
  fs.chmodSync(pids, 0o666);
  return [
    // clean-up.sh removes the shared memory that the library leaves behind for these process IDs.
    ...['sh', '-c', 'echo $$ >> "$0"; exec "$@"', pids],
    // Last in the chain of commands, because the library's shared memory belongs to the user that loads it.
    ...['env', `LD_PRELOAD=${faketimeLibrary()}`, `FAKETIME_TIMESTAMP_FILE=${file}`],
    ...[`FAKETIME_CACHE_DURATION=${KEPT_SECONDS}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1', 'NO_FAKE_STAT=1'],
  ];
}

/** Sets each host's clock ahead by a number of seconds. Resolves once every program has noticed. */
export async function setClocks(place: Place, seconds: Partial<Record<Host, number>>): Promise<void> {
  for (const [host, wrong] of Object.entries(seconds)) {
    const ahead = wrong + aheadSeconds;
    const file = fileOf(place, host as Host);
    fs.writeFileSync(`${file}.new`, `${ahead < 0 ? '' : '+'}${ahead}\n`);
    fs.renameSync(`${file}.new`, file);
  }
  await sleep((KEPT_SECONDS + 1) * 1000);
}

/** The time in the `Date` header of a server's response, in milliseconds since 1970. */
export async function clockBehind(origin: string): Promise<number> {
  const { headers } = await fetch(`${origin}/readyz`);
  return Date.parse(headers.get('date') ?? '');
}

const DAY_SECONDS = 86_400;
/** How long the load runs before midnight. */
const BEFORE_SECONDS = 20;

/**
 * Moves the clocks of all hosts to shortly before the next midnight. The clocks never go back, because charges of past
 * days would then be in the future.
 */
export async function bringMidnight({ place }: { place: Place }): Promise<void> {
  const now = Math.floor(Date.now() / 1000) + aheadSeconds;
  aheadSeconds += DAY_SECONDS - (now % DAY_SECONDS) - BEFORE_SECONDS;
  const hosts = [...databaseHosts, ...appHosts];
  await setClocks(place, Object.fromEntries(hosts.map((host) => [host, 0])));
}
