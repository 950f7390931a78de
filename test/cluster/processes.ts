/** Programs that run on a host of the cluster. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type Host, namespaceOf } from './network.ts';

/** Where a run keeps its files and how its namespaces are named. */
export type Place = { prefix: string; folder: string };

export type ProgramOptions = {
  name: string;
  host: Host;
  /** Program and arguments. */
  command: readonly string[];
  /** Default: root. */
  user?: 'postgres';
};

/** What runs a command on a host. */
export const onHost = ({ prefix }: Place, host: Host): string[] => [
  ...['ip', 'netns', 'exec', namespaceOf(prefix, host)],
];

export class Program {
  readonly #place: Place;
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;

  constructor(place: Place, options: ProgramOptions) {
    this.#place = place;
    this.#options = options;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts it. Each program in the chain replaces itself, so its process ID is that of the last. */
  start(): this {
    if (this.isRunning) return this;
    const { command, host, name, user } = this.#options;
    const log = fs.openSync(path.join(this.#place.folder, 'logs', `${name}.log`), 'a');
    const as = user ? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups'] : [];
    const [program, ...args] = [...onHost(this.#place, host), ...as, ...command] as [string, ...string[]];
    this.#child = spawn(program, args, {
      cwd: '/',
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8' },
    });
    fs.closeSync(log);
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Sends a signal; resolves once the process has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning || this.#child === undefined) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}
