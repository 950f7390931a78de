/** What every command of `parley` has. Contract sections 11 and 17. */
import type { Config } from '../config.ts';
import type { Database, Db } from '../database/client.ts';
import type { Env } from '../environment.ts';
import type { ReloadOutcome } from '../store/upstream-reloads.ts';

/** A failed command. Its message is what the operator sees. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** A command that was called in the wrong way. */
export class UsageError extends CommandError {}

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const;

export type CommandContext = {
  db: Db;
  config: Config;
  /** Embedded database only. */
  copyTo?: Database['copyTo'];
  /** Reads `UPSTREAMS_FILE` again. Only if the service runs in this process. */
  reload?: (() => ReloadOutcome) | undefined;
};

export type Input = {
  positionals: readonly string[];
  options: Readonly<Record<string, string | boolean | undefined>>;
};

export type Result = {
  /** Lines for people. */
  text: readonly string[];
  /** The same for programs, printed by `--json`. */
  value: unknown;
  /** The command found a fault: its exit code is 1. */
  isBad?: boolean;
};

export type Option = {
  type: 'string' | 'boolean';
  /** The name of its value, such as `PLAN`. */
  value?: string;
  help: string;
};

type Described = {
  name: string;
  /** One sentence in the imperative. */
  summary: string;
  /** Argument names; all are required. `FOLDER` becomes an absolute path. */
  parameters: readonly string[];
  options?: Readonly<Record<string, Option>>;
  /** More lines for `--help`. */
  details?: readonly string[];
  /** Checks the options before anything is opened. Throws UsageError. */
  check?(input: Input): void;
};

/** Runs in the process that has the database. */
export type DatabaseCommand = Described & { run(context: CommandContext, input: Input): Promise<Result> };

/** Runs in the process that the operator started. `report` shows progress. */
export type LocalCommand = Described & {
  runHere(input: Input, env: Env, report: (line: string) => void): Promise<Result>;
};

export type Command = DatabaseCommand | LocalCommand;
