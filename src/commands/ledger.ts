/** `parley usage` and `parley audit`. Contract sections 2 and 5. */
import { meters } from '../../schemas/plans.ts';
import { ceilingsOf } from '../domain/plans.ts';
import { audit } from '../store/ledger-audit.ts';
import { readUsageHistory } from '../store/usage-history.ts';
import { accountOf } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import type { DatabaseCommand, Input } from './command.ts';
import { counted } from './counted.ts';
import { table } from './table.ts';

const daysOf = (input: Input) => wholeNumber(input, 'days', 7, 365);

const usage: DatabaseCommand = {
  name: 'usage',
  summary: 'Show what an account used, by UTC day and meter.',
  parameters: ['EMAIL'],
  options: { days: { type: 'string', value: 'N', help: 'the last N days, including today (default: 7)' } },
  check: (input) => void daysOf(input),
  run: async ({ config, db }, input) => {
    const [email = ''] = input.positionals;
    const days = daysOf(input);
    const account = await accountOf(db, email);
    const { rows, today } = await readUsageHistory(db, account.id, days);
    const ceilings = ceilingsOf(config.plans.of(account));
    const used = rows
      .map(({ day, meter, used: units }) => ({ day, meter, used: units }))
      .sort((one, other) => other.day.localeCompare(one.day) || one.meter.localeCompare(other.meter));
    const limits = meters.map((meter) => `${meter} ${ceilings[meter] ?? 'unlimited'}`).join(', ');
    const lines = used.map(({ day, meter, used: units }) => [day, meter, String(units)]);
    return {
      text: [
        `${account.email} is on the ${account.plan} plan. Daily limits: ${limits}.`,
        ...(lines.length === 0
          ? [`No usage in the last ${counted(days, 'day')}.`]
          : table(['DAY', 'METER', 'USED'], lines)),
      ],
      value: { email: account.email, plan: account.plan, today, limits: ceilings, usage: used },
    };
  },
};

const auditLedger: DatabaseCommand = {
  name: 'audit',
  summary: 'Check that the ledger and its counters agree.',
  parameters: [],
  run: async ({ db }) => {
    const { counters, differences, open } = await audit(db);
    const summary = `Compared ${counted(counters, 'counter')}: ${counted(open, 'open charge')}, ${counted(differences.length, 'difference')}.`;
    const lines = differences.map(
      ({ accountId, charged, day, meter, used }) =>
        `${day} ${accountId} ${meter}: charged ${charged}, counted ${used}`,
    );
    return {
      text: [summary, ...lines],
      value: {
        counters,
        open_charges: open,
        differences: differences.map(({ accountId, ...difference }) => ({
          account_id: accountId,
          ...difference,
        })),
      },
      isBad: differences.length > 0,
    };
  },
};

export const ledgerCommands: readonly DatabaseCommand[] = [usage, auditLedger];
