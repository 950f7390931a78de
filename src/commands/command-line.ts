/** Runs commands in this process, or in the running service if it holds the embedded database. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../config.ts';
import { openDatabase } from '../database/client.ts';
import { askHolder, DataDirError, lockDataDir } from '../database/data-dir-lock.ts';
import { migrate } from '../database/migrate.ts';
import { helpOf, parseInput } from './arguments.ts';
import { type Command, CommandError, exitCodes, type Result, UsageError } from './command.ts';
import { commandHandler, handledResult, runCommand } from './operator.ts';

async function onPostgres(config: Config, url: string, name: string, args: string[]): Promise<Result> {
  const database = await openDatabase({ url, connections: 1 });
  try {
    return await runCommand({ db: database.db, config }, name, args);
  } finally {
    await database.close();
  }
}

/** @throws DataDirError if another process holds the folder */
async function inThisProcess(
  config: Config,
  name: string,
  args: string[],
  migrates: boolean,
): Promise<Result> {
  const { dataDir } = config;
  if (!existsSync(join(dataDir, 'PG_VERSION'))) {
    throw new CommandError(
      `DATA_DIR ${dataDir} has no database yet. Start the service once, or set DATA_DIR or DATABASE_URL to the values that the service uses.`,
    );
  }
  // Only this user can access the files that the embedded database writes.
  process.umask(0o077);
  const lock = await lockDataDir(
    dataDir,
    commandHandler(() => undefined),
  );
  try {
    const database = await openDatabase({ dataDir });
    try {
      if (migrates) await migrate(database);
      return await runCommand({ ...database, config }, name, args);
    } finally {
      await database.close();
    }
  } finally {
    await lock.release();
  }
}

async function onEmbedded(config: Config, name: string, args: string[], migrates: boolean): Promise<Result> {
  try {
    return await inThisProcess(config, name, args, migrates);
  } catch (error) {
    const answered = error instanceof DataDirError ? await askHolder(config.dataDir, name, args) : undefined;
    if (answered === undefined) throw error;
    return handledResult(answered);
  }
}

/** Runs a command on the configured database, in whichever process holds it. Migrates a stopped embedded one first. */
export const onDatabaseOf = (
  config: Config,
  name: string,
  args: string[],
  { migrates = true } = {},
): Promise<Result> =>
  config.databaseUrl === undefined
    ? onEmbedded(config, name, args, migrates)
    : onPostgres(config, config.databaseUrl, name, args);

/** Makes paths absolute, because the service has another working directory. */
const absolute = (command: Command, args: readonly string[], positionals: readonly string[]): string[] =>
  command.parameters.includes('FOLDER') ? ['--', ...positionals] : [...args];

async function resultOf(command: Command, args: readonly string[]): Promise<Result> {
  const input = parseInput(command, args);
  if (input.options.help === true) return { text: helpOf(command), value: { help: helpOf(command) } };
  if ('runHere' in command) return command.runHere(input, process.env, (line) => console.error(line));
  const config = loadConfig();
  const sent = absolute(command, args, input.positionals);
  return onDatabaseOf(config, command.name, sent);
}

/**
 * Runs a command and prints its output, as JSON with `--json`. Prints problems to standard error. Sets the exit code.
 */
export async function commandLine(command: Command, args: readonly string[]): Promise<void> {
  const isJson = args.includes('--json');
  try {
    const { isBad = false, text, value } = await resultOf(command, args);
    const output = isJson ? JSON.stringify(value) : text.join('\n');
    (isBad && !isJson ? console.error : console.log)(output);
    process.exitCode = isBad ? exitCodes.failed : exitCodes.done;
  } catch (error) {
    const { message } = error as Error;
    console.error(isJson ? JSON.stringify({ error: { message } }) : message);
    process.exitCode = error instanceof UsageError ? exitCodes.wrongUsage : exitCodes.failed;
  }
}
