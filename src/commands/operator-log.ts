/** `parley operator-log`. Contract section 17. */
import { toLogEntry } from '../request-log/operator-log.ts';
import { listOperatorLog } from '../store/operator-log.ts';
import { wholeNumber } from './arguments.ts';
import type { DatabaseCommand, Input } from './command.ts';
import { table } from './table.ts';

const limitOf = (input: Input) => wholeNumber(input, 'limit', 50, 100_000);

export const operatorLog: DatabaseCommand = {
  name: 'operator-log',
  summary: 'List the changes that operators made in the dashboard and with commands, newest first.',
  parameters: [],
  options: { limit: { type: 'string', value: 'N', help: 'at most N entries (default: 50)' } },
  check: (input) => void limitOf(input),
  run: async ({ db }, input) => {
    const entries = (await listOperatorLog(db, limitOf(input))).map(toLogEntry);
    const rows = entries.map(({ account_email, action, at, detail, operator_email }) => [
      at,
      action,
      account_email,
      detail ?? '',
      operator_email ?? 'command line',
    ]);
    return {
      text:
        rows.length === 0
          ? ['No entries.']
          : table(['TIME', 'ACTION', 'ACCOUNT', 'DETAIL', 'OPERATOR'], rows),
      value: { entries },
    };
  },
};
