/** `parley accounts …`. Contract sections 9, 13, and 17. */
import { FormatRegistry } from '@sinclair/typebox';
import { type BillingPeriod, billingPeriods } from '../../schemas/plans.ts';
import type { Config } from '../config.ts';
import type { Db } from '../database/client.ts';
import { assertAcceptable } from '../domain/password-rules.ts';
import { hashPassword } from '../domain/passwords.ts';
import type { Plan } from '../domain/plans.ts';
import { newPassword } from '../domain/random-password.ts';
import { ApiError } from '../errors.ts';
import { type Account, findByEmail } from '../store/accounts.ts';
import { countOfAccount, listAccounts } from '../store/operator.ts';
import {
  changeAccountAs,
  createAccountAs,
  deleteAccountAs,
  resetPasswordAs,
} from '../store/operator-acts.ts';
import { commandLine } from '../store/operator-log.ts';
import { wholeNumber } from './arguments.ts';
import { CommandError, type DatabaseCommand, type Input, UsageError } from './command.ts';
import { table } from './table.ts';

export async function accountOf(db: Db, email: string): Promise<Account> {
  const account = await findByEmail(db, email);
  if (account === undefined) throw new CommandError(`There is no account with the email address ${email}.`);
  return account;
}

const accountDeleted = () => new CommandError('The account has just been deleted.');

function planOf({ plans }: Config, id: string): Plan {
  const plan = plans.find(id);
  if (plan !== undefined) return plan;
  const known = plans.plans.map((one) => one.id).join(', ');
  throw new CommandError(`There is no plan "${id}". Available plans: ${known}.`);
}

function periodOf(name: string): BillingPeriod {
  const period = billingPeriods.find((one) => one === name);
  if (period !== undefined) return period;
  throw new CommandError(
    `There is no billing period "${name}". Available periods: ${billingPeriods.join(', ')}.`,
  );
}

/** The JSON form of an account, with the API's field names. */
const shown = (account: Account) => ({
  id: account.id,
  email: account.email,
  plan: account.plan,
  billing_period: account.billingPeriod,
  created_at: account.createdAt.toISOString(),
  suspended_at: account.suspendedAt?.toISOString() ?? null,
});

const create: DatabaseCommand = {
  name: 'accounts create',
  summary: 'Create an account with a random password, even while sign-ups are closed.',
  parameters: ['EMAIL'],
  options: {
    plan: { type: 'string', value: 'PLAN', help: 'its plan (default: the first plan)' },
    period: { type: 'string', value: 'PERIOD', help: `its billing period: ${billingPeriods.join(' or ')}` },
  },
  run: async ({ config, db }, { options, positionals: [email = ''] }) => {
    const isEmail = /^[^@\s]+@[^@\s]+$/.test(email) && (FormatRegistry.Get('email')?.(email) ?? true);
    if (!isEmail || email.length > 254) throw new CommandError(`"${email}" is not an email address.`);
    const plan = options.plan === undefined ? config.plans.standard : planOf(config, String(options.plan));
    const period = options.period === undefined ? 'monthly' : periodOf(String(options.period));
    const password = newPassword();
    await assertAcceptable(password, email, 'password');
    const passwordHash = await hashPassword(password);
    const newAccount = { email, passwordHash, plan: plan.id, billingPeriod: period };
    const account = await createAccountAs(db, commandLine, newAccount).catch((error) => {
      if (error instanceof ApiError && error.code === 'emailTaken')
        throw new CommandError(`An account with the email address ${email} already exists.`);
      throw error;
    });
    return {
      text: [
        `Created ${account.email} on the ${plan.id} plan. Password: ${password}`,
        'It is shown only once. Ask the owner to change it after signing in.',
      ],
      value: { ...shown(account), password },
    };
  },
};

const limitOf = (input: Input) => wholeNumber(input, 'limit', 100, 100_000);

const list: DatabaseCommand = {
  name: 'accounts list',
  summary: 'List accounts, newest first.',
  parameters: [],
  options: {
    search: { type: 'string', value: 'TEXT', help: 'only addresses that contain this' },
    plan: { type: 'string', value: 'PLAN', help: 'only this plan' },
    suspended: { type: 'boolean', help: 'only suspended accounts' },
    limit: { type: 'string', value: 'N', help: 'at most N accounts (default: 100)' },
  },
  check: (input) => void limitOf(input),
  run: async ({ db }, input) => {
    const { plan, search, suspended } = input.options;
    const limit = limitOf(input);
    const found = await listAccounts(db, {
      limit: limit + 1,
      ...(plan !== undefined && { plan: String(plan) }),
      ...(search !== undefined && { search: String(search) }),
      suspended: suspended === true,
    });
    const accounts = found.slice(0, limit);
    const rows = accounts.map(({ createdAt, email, plan: on, suspendedAt }) => [
      email,
      on,
      createdAt.toISOString().slice(0, 10),
      suspendedAt === null ? '' : `since ${suspendedAt.toISOString().slice(0, 10)}`,
    ]);
    const more = found.length > limit ? ['More accounts match. Raise --limit, or use --search.'] : [];
    const text =
      rows.length === 0
        ? ['No matching accounts.']
        : [...table(['EMAIL', 'PLAN', 'CREATED', 'SUSPENDED'], rows), ...more];
    return { text, value: { accounts: accounts.map(shown), has_more: found.length > limit } };
  },
};

const show: DatabaseCommand = {
  name: 'accounts show',
  summary: 'Show an account.',
  parameters: ['EMAIL'],
  run: async ({ db }, { positionals: [email = ''] }) => {
    const account = await accountOf(db, email);
    const counts = await countOfAccount(db, account.id);
    const state =
      account.suspendedAt === null ? 'active' : `suspended since ${account.suspendedAt.toISOString()}`;
    const text = [
      `Email          ${account.email}`,
      `ID             ${account.id}`,
      `State          ${state}`,
      `Plan           ${account.plan}, billed ${account.billingPeriod}`,
      `Created        ${account.createdAt.toISOString()}`,
      `Active keys    ${counts.keys}`,
      `Open sessions  ${counts.sessions}`,
    ];
    return { text, value: { ...shown(account), active_keys: counts.keys, open_sessions: counts.sessions } };
  },
};

const suspension = (isSuspended: boolean): DatabaseCommand => ({
  name: `accounts ${isSuspended ? 'suspend' : 'resume'}`,
  summary: isSuspended
    ? 'End the sessions of an account, and refuse its keys and sign-ins.'
    : 'Let a suspended account sign in and use its keys again.',
  parameters: ['EMAIL'],
  run: async ({ db }, { positionals: [email = ''] }) => {
    const { id } = await accountOf(db, email);
    const account = await changeAccountAs(db, commandLine, id, { isSuspended });
    if (account === undefined) throw accountDeleted();
    const text = isSuspended
      ? `${account.email} is suspended. Its sessions have ended, and its keys are refused on every replica within a second.`
      : `${account.email} can sign in again, and its keys work.`;
    return { text: [text], value: shown(account) };
  },
});

const remove: DatabaseCommand = {
  name: 'accounts delete',
  summary: 'Delete an account with its keys, sessions, and conversations. This cannot be undone.',
  parameters: ['EMAIL'],
  options: { yes: { type: 'boolean', help: 'required: confirms the deletion' } },
  check: ({ options, positionals: [email] }) => {
    if (options.yes !== true)
      throw new UsageError(`This permanently deletes ${email}. To confirm, add --yes.`);
  },
  run: async ({ db }, { positionals: [email = ''] }) => {
    const account = await accountOf(db, email);
    if (!(await deleteAccountAs(db, commandLine, account)))
      throw new CommandError(
        'The account changed at the same time, so this command changed nothing. Run the command again.',
      );
    return {
      text: [`Deleted ${account.email}. The running service removes its remaining rows within minutes.`],
      value: shown(account),
    };
  },
};

const changePlan: DatabaseCommand = {
  name: 'accounts set-plan',
  summary: 'Set the plan and billing period of an account, regardless of BILLING.',
  parameters: ['EMAIL', 'PLAN', 'PERIOD'],
  run: async ({ config, db }, { positionals: [email = '', planId = '', periodName = ''] }) => {
    const plan = planOf(config, planId);
    const period = periodOf(periodName);
    const account = await accountOf(db, email);
    const change = { plan: plan.id, billingPeriod: period };
    const updated = await changeAccountAs(db, commandLine, account.id, change);
    if (updated === undefined) throw accountDeleted();
    return {
      text: [`${updated.email} is now on the ${updated.plan} plan, billed ${updated.billingPeriod}.`],
      value: shown(updated),
    };
  },
};

const resetPassword: DatabaseCommand = {
  name: 'accounts reset-password',
  summary: 'Set a random password, show it once, and end the sessions of an account.',
  parameters: ['EMAIL'],
  run: async ({ db }, { positionals: [email = ''] }) => {
    const account = await accountOf(db, email);
    const password = newPassword();
    await assertAcceptable(password, account.email, 'password');
    const updated = await resetPasswordAs(db, commandLine, account, await hashPassword(password));
    if (updated === undefined)
      throw new CommandError(
        'Another process changed the password at the same time, so this command changed nothing. Run the command again.',
      );
    return {
      text: [
        `New password for ${updated.email}: ${password}`,
        'It is shown only once. All sessions of the account have ended, and its limits on failed sign-ins are reset. Its API keys still work.',
      ],
      value: { ...shown(updated), password },
    };
  },
};

export const accountCommands: readonly DatabaseCommand[] = [
  create,
  list,
  show,
  suspension(true),
  suspension(false),
  remove,
  changePlan,
  resetPassword,
];
