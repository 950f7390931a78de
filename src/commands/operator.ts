/** Runs commands on the database, in the process that holds it. Contract sections 9, 11, and 17. */
import { isBusy, isUnavailable, NO_CONNECTION_LEFT, sqlState } from '../database/client.ts';
import { parseInput } from './arguments.ts';
import { type CommandContext, CommandError, type DatabaseCommand, type Result } from './command.ts';
import { databaseCommands } from './database-commands.ts';
import { doctorDatabase } from './doctor/database.ts';

export { type CommandContext, CommandError } from './command.ts';

/** Command names in `npm run`. */
const shortNames: Readonly<Record<string, string>> = {
  'reset-password': 'accounts reset-password',
  'set-plan': 'accounts set-plan',
};

/** @throws CommandError if there is no such command */
export function commandNamed(name: string): DatabaseCommand {
  const command = [...databaseCommands, doctorDatabase].find(
    (one) => one.name === (shortNames[name] ?? name),
  );
  if (command !== undefined) return command;
  const names = databaseCommands.map((one) => one.name).join(', ');
  throw new CommandError(`There is no command "${name}". Available commands: ${names}.`);
}

/** The database's message, because Drizzle's wrapper contains every parameter. */
export function reasonOf(error: unknown): string {
  if (sqlState(error) === NO_CONNECTION_LEFT) return 'the database has no free connections (53300).';
  if (isBusy(error))
    return `the database could not run the statement (${sqlState(error)}). It may be read-only, overloaded, or out of disk space.`;
  if (isUnavailable(error)) return `the database cannot be reached (${sqlState(error)}).`;
  const root = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return root instanceof Error ? root.message : String(root);
}

/** Throws only CommandError. `context` is undefined until the process has opened its database. */
export async function runCommand(
  context: CommandContext | undefined,
  name: string,
  args: readonly string[],
): Promise<Result> {
  const command = commandNamed(name);
  const input = parseInput(command, args);
  if (context === undefined)
    throw new CommandError(
      'The process that uses the database is not ready yet. Run the command again in a moment.',
    );
  try {
    return await command.run(context, input);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`The command failed: ${reasonOf(error)}`, { cause: error });
  }
}

/** Runs a command and returns its lines. Throws CommandError, even if the command only found a fault. */
export async function runOperatorCommand(
  context: CommandContext | undefined,
  name: string,
  args: readonly string[],
): Promise<string[]> {
  const { isBad = false, text } = await runCommand(context, name, args);
  if (isBad) throw new CommandError(text.join('\n'));
  return [...text];
}

/** Handles commands on the local socket in `DATA_DIR`, which carries lines of text. */
export const commandHandler =
  (current: () => CommandContext | undefined) =>
  async (name: string, args: string[]): Promise<string[]> => [
    JSON.stringify(await runCommand(current(), name, args)),
  ];

/** Decodes the result of `commandHandler`. */
export const handledResult = (lines: readonly string[]): Result => JSON.parse(lines.join('')) as Result;
