/** Refuses passwords that attackers guess first. Contract section 9, NIST SP 800-63B. */
import { ApiError } from '../errors.ts';

let list: Promise<ReadonlySet<string>> | undefined;

export function commonPasswords(): Promise<ReadonlySet<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => {
    const all = dictionary['passwords-common'] as readonly string[];
    return new Set(all.filter(({ length }) => length >= 8));
  });
  return list;
}

/** Shorter parts of an address occur in too many words. */
const PART_LENGTH = 3;

/** Parts of an email address, longest first: `ada.lovelace@example.com` has lovelace, example, ada and com. */
const partsOf = (email: string): string[] =>
  email
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(({ length }) => length >= PART_LENGTH)
    .sort((one, other) => other.length - one.length);

/** Whether little is left without parts of the email address: under four letters or digits, or a year or a date. */
function isMadeOf(password: string, email: string): boolean {
  let rest = password;
  for (const part of partsOf(email)) rest = rest.replaceAll(part, '');
  if (rest === password) return false;
  const remaining = rest.replace(/[^\p{L}\p{N}]/gu, '');
  return remaining.length < 4 || (remaining.length <= 8 && !/\p{L}/u.test(remaining));
}

/** Refuses a password that is easy to guess; the schemas check its length. Throws `invalidRequest` with the reason. */
export async function assertAcceptable(password: string, email: string, param: string): Promise<void> {
  const why = await faultOf(password.normalize('NFKC').toLowerCase(), email);
  if (why === undefined) return;
  const message = `${why} Choose a different one, for example four random words.`;
  throw new ApiError('invalidRequest', { message, param, details: [{ path: `/${param}`, message }] });
}

async function faultOf(password: string, email: string): Promise<string | undefined> {
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(password)) return 'This password is blank.';
  if (/^(.)\1*$/su.test(password)) return 'This password repeats a single character.';
  const common = await commonPasswords();
  if (common.has(password) || common.has(password.trim())) return 'This password is too common.';
  if (isMadeOf(password, email)) return 'This password is based on the email address.';
  return undefined;
}

export function assertDifferent(current: string, next: string, param: string): void {
  if (current.normalize('NFKC') !== next.normalize('NFKC')) return;
  const message = 'The new password must be different from the current one.';
  throw new ApiError('invalidRequest', { message, param, details: [{ path: `/${param}`, message }] });
}
