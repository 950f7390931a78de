/** Runs programs on the hosts of the cluster. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type Host, namespaceOf } from './network.ts';

/** Where a run keeps its files and how its namespaces are named. */
export type Place = { prefix: string; folder: string };

export type ProgramOptions = {
  /** The name of the log file. */
  name: string;
  host: Host;
  /** The program and its arguments. */
  command: readonly string[];
  /** Default: root. */
  user?: 'postgres';
};

/** The command prefix that runs a program on a host. */
export const onHost = ({ prefix }: Place, host: Host): string[] => [
  ...['ip', 'netns', 'exec', namespaceOf(prefix, host)],
];

/** A program that can be started, signaled, and started again. It appends its output to a file in `logs`. */
export class Program {
  readonly #place: Place;
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;

  constructor(place: Place, options: ProgramOptions) {
    this.#place = place;
    this.#options = options;
  }

  /** The process ID, or 0 before the first start. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the program, unless it is running. The commands before it use exec, so the process ID is the program's. */
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

  /** Sends a signal. Resolves once the process has exited. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning || this.#child === undefined) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}
