/** Commands on the database, run by the process that owns it. Contract sections 9, 11, and 17. */
import { isUnavailable, sqlState } from '../database/client.ts';
import { parseInput } from './arguments.ts';
import { type CommandContext, CommandError, type DatabaseCommand, type Result } from './command.ts';
import { databaseCommands } from './database-commands.ts';
import { doctorDatabase } from './doctor/database.ts';

export { type CommandContext, CommandError } from './command.ts';

/** The names that `npm run` has. */
const shortNames: Readonly<Record<string, string>> = {
  'reset-password': 'accounts reset-password',
  'set-plan': 'accounts set-plan',
};

/** @throws CommandError if there is none */
export function commandNamed(name: string): DatabaseCommand {
  const command = [...databaseCommands, doctorDatabase].find(
    (one) => one.name === (shortNames[name] ?? name),
  );
  if (command !== undefined) return command;
  const names = databaseCommands.map((one) => one.name).join(', ');
  throw new CommandError(`There is no command "${name}". Available commands: ${names}.`);
}

/** The database's own message: Drizzle's wrapper contains every parameter. */
export function reasonOf(error: unknown): string {
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

/** Runs a command and returns its lines. Throws CommandError, also if the command found a fault. */
export async function runOperatorCommand(
  context: CommandContext | undefined,
  name: string,
  args: readonly string[],
): Promise<string[]> {
  const { isBad = false, text } = await runCommand(context, name, args);
  if (isBad) throw new CommandError(text.join('\n'));
  return [...text];
}

/** For the local socket in `DATA_DIR`, which carries lines of text. */
export const commandHandler =
  (current: () => CommandContext | undefined) =>
  async (name: string, args: string[]): Promise<string[]> => [
    JSON.stringify(await runCommand(current(), name, args)),
  ];

/** What `commandHandler` answered. */
export const handledResult = (lines: readonly string[]): Result => JSON.parse(lines.join('')) as Result;
