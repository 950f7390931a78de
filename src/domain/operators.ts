/** Operators: the accounts that `OPERATORS` names. Contract section 17. */
import { validate as isUuid } from 'uuid';

type Operators = { operators: ReadonlySet<string> };

const ADDRESS = /^[^@\s]+@[^@\s]+$/;

/**
 * Reads a list of email addresses and account IDs, separated by commas.
 *
 * @throws Error for anything else
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

/** Nobody may take such an address without the operator's help: it is not verified. */
export const isReservedAddress = (email: string, { operators }: Operators): boolean =>
  operators.has(email.toLowerCase());

export const isOperator = ({ email, id }: { email: string; id: string }, config: Operators): boolean =>
  config.operators.has(id) || isReservedAddress(email, config);
