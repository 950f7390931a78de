/** Operators: the accounts listed in `OPERATORS`. Contract section 17. */
import { validate as isUuid } from 'uuid';

type Operators = { operators: ReadonlySet<string> };

const ADDRESS = /^[^@\s]+@[^@\s]+$/;

/**
 * Parses a comma-separated list of email addresses and account IDs.
 *
 * @throws Error if an entry is neither
 */
export function parseOperators(value = ''): ReadonlySet<string> {
  const names = value
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  const wrong = names.find((name) => !isUuid(name) && !ADDRESS.test(name));
  if (wrong !== undefined)
    throw new Error(`must be email addresses or account IDs, separated by commas; "${wrong}" is neither.`);
  return new Set(names);
}

/** Whether an account needs the operator's help to use this address. Anyone could claim it: it is not verified. */
export const isReservedAddress = (email: string, { operators }: Operators): boolean =>
  operators.has(email.toLowerCase());

export const isOperator = ({ email, id }: { email: string; id: string }, config: Operators): boolean =>
  config.operators.has(id) || isReservedAddress(email, config);
