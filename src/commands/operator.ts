/** The operator's commands, run by the process that owns the database. Contract sections 9, 11, and 13. */
import { randomInt } from 'node:crypto';
import { billingPeriods } from '../../schemas/plans.ts';
import type { Config } from '../config.ts';
import { type Db, isUnavailable, sqlState } from '../database/client.ts';
import { assertAcceptable } from '../domain/password-rules.ts';
import { hashPassword } from '../domain/passwords.ts';
import { findByEmail, setPlan, updatePassword } from '../store/accounts.ts';
import { audit } from '../store/audit.ts';

/** A failed command. Its message is the one line that the operator sees. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export type CommandContext = { db: Db; config: Config };

type Command = {
  /** Argument names; all are required. */
  parameters: readonly string[];
  /** @returns lines of output */
  run(context: CommandContext, args: readonly string[]): Promise<string[]>;
};

async function accountOf(db: Db, email: string) {
  const account = await findByEmail(db, email);
  if (account === undefined) throw new CommandError(`There is no account with the email address ${email}.`);
  return account;
}

/** Without easily confused characters. 20 of them hold 99 random bits. */
const PASSWORD_ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

const newPassword = () => {
  const letter = () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)];
  const group = () => Array.from({ length: 5 }, letter).join('');
  return Array.from({ length: 4 }, group).join('-');
};

const resetPassword: Command = {
  parameters: ['EMAIL'],
  run: async ({ db }, [email = '']) => {
    const account = await accountOf(db, email);
    const password = newPassword();
    await assertAcceptable(password, account.email, 'password');
    const updated = await updatePassword(db, account, await hashPassword(password), null);
    if (updated === undefined)
      throw new CommandError(
        'Another process changed the password at the same time, so this command changed nothing. Run the command again.',
      );
    return [
      `New password for ${updated.email}: ${password}`,
      'It is shown only once. All sessions of the account have ended, and its failed sign-in limits are reset. Its API keys still work.',
    ];
  },
};

const changePlan: Command = {
  parameters: ['EMAIL', 'PLAN', 'PERIOD'],
  run: async ({ config, db }, [email = '', planId = '', periodName = '']) => {
    const plan = config.plans.find(planId);
    if (plan === undefined) {
      const known = config.plans.plans.map(({ id }) => id).join(', ');
      throw new CommandError(`There is no plan "${planId}". Available plans: ${known}.`);
    }
    const period = billingPeriods.find((one) => one === periodName);
    if (period === undefined)
      throw new CommandError(
        `There is no billing period "${periodName}". Available periods: ${billingPeriods.join(', ')}.`,
      );
    const account = await accountOf(db, email);
    const updated = await setPlan(db, account.id, plan.id, period, null);
    if (updated === undefined) throw new CommandError('The account has just been deleted.');
    return [`${updated.email} is now on the ${updated.plan} plan, billed ${updated.billingPeriod}.`];
  },
};

const auditLedger: Command = {
  parameters: [],
  run: async ({ db }) => {
    const { counters, differences, open } = await audit(db);
    const summary = `${counters} counters compared, ${open} open charges, ${differences.length} differences.`;
    if (differences.length === 0) return [summary];
    const lines = differences.map(
      ({ accountId, charged, day, meter, used }) =>
        `${day} ${accountId} ${meter}: charged ${charged}, counted ${used}`,
    );
    throw new CommandError([summary, ...lines].join('\n'));
  },
};

const commands: ReadonlyMap<string, Command> = new Map([
  ['audit', auditLedger],
  ['reset-password', resetPassword],
  ['set-plan', changePlan],
]);

function commandNamed(name: string): Command {
  const command = commands.get(name);
  if (command === undefined)
    throw new CommandError(
      `There is no command "${name}". Available commands: ${[...commands.keys()].join(', ')}.`,
    );
  return command;
}

/** Checks a command before anything is opened. Throws CommandError with the usage. */
export function checkUsage(name: string, args: readonly string[]): void {
  const { parameters } = commandNamed(name);
  if (args.length !== parameters.length)
    throw new CommandError(
      `Usage: npm run ${[name, ...(parameters.length > 0 ? ['--', ...parameters] : [])].join(' ')}`,
    );
}

/** The database's own message: Drizzle's wrapper contains every parameter. */
function reasonOf(error: unknown): string {
  if (isUnavailable(error)) return `the database cannot be reached (${sqlState(error)}).`;
  const root = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return root instanceof Error ? root.message : String(root);
}

/**
 * Runs a command and returns its lines of output. Throws only CommandError. `context` is undefined until the process
 * has opened its database.
 */
export async function runOperatorCommand(
  context: CommandContext | undefined,
  name: string,
  args: readonly string[],
): Promise<string[]> {
  checkUsage(name, args);
  if (context === undefined)
    throw new CommandError(
      'The process that uses the database is not ready yet. Run the command again in a moment.',
    );
  try {
    return await commandNamed(name).run(context, args);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`The command failed: ${reasonOf(error)}`, { cause: error });
  }
}
