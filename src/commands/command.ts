/** The parts of every `parley` command. Contract sections 11 and 17. */
import type { Config } from '../config.ts';
import type { Database, Db } from '../database/client.ts';
import type { Env } from '../environment.ts';
import type { ReloadOutcome } from '../store/upstream-reloads.ts';

/** A failed command. The operator sees its message. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** The command line does not match the command's usage. */
export class UsageError extends CommandError {}

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const;

export type CommandContext = {
  db: Db;
  config: Config;
  /** Copies the database. Embedded database only. */
  copyTo?: Database['copyTo'];
  /** Reloads `UPSTREAMS_FILE`. Set only if the service runs in this process. */
  reload?: (() => ReloadOutcome) | undefined;
};

export type Input = {
  positionals: readonly string[];
  options: Readonly<Record<string, string | boolean | undefined>>;
};

export type Result = {
  /** Output lines for people. */
  text: readonly string[];
  /** The same output for programs, which `--json` prints. */
  value: unknown;
  /** Whether the command found a fault. If so, its exit code is 1. */
  isBad?: boolean;
};

export type Option = {
  type: 'string' | 'boolean';
  /** A placeholder for the value, such as `PLAN`. */
  value?: string;
  help: string;
};

type Described = {
  name: string;
  /** A sentence in the imperative. */
  summary: string;
  /** Argument names. All are required. `FOLDER` becomes an absolute path. */
  parameters: readonly string[];
  options?: Readonly<Record<string, Option>>;
  /** More lines for the output of `--help`. */
  details?: readonly string[];
  /** Checks the options before the command opens anything. Throws UsageError. */
  check?(input: Input): void;
};

/** A command that runs in the process that holds the database. */
export type DatabaseCommand = Described & { run(context: CommandContext, input: Input): Promise<Result> };

/** A command that runs in the process that the operator started. `report` shows progress. */
export type LocalCommand = Described & {
  runHere(input: Input, env: Env, report: (line: string) => void): Promise<Result>;
};

export type Command = DatabaseCommand | LocalCommand;
