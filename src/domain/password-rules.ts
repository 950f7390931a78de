/** Rejects passwords that attackers guess first. Contract section 9, NIST SP 800-63B. */
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

/** The parts of an email address, longest first. `ada.lovelace@example.com` has lovelace, example, ada, and com. */
const partsOf = (email: string): string[] =>
  email
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(({ length }) => length >= PART_LENGTH)
    .sort((one, other) => other.length - one.length);

/** Whether the email address makes up most of the password: the rest is under four characters, a year, or a date. */
function isMadeOf(password: string, email: string): boolean {
  let rest = password;
  for (const part of partsOf(email)) rest = rest.replaceAll(part, '');
  if (rest === password) return false;
  const remaining = rest.replace(/[^\p{L}\p{N}]/gu, '');
  return remaining.length < 4 || (remaining.length <= 8 && !/\p{L}/u.test(remaining));
}

/** Rejects a password that is easy to guess; the schemas check its length. Throws `invalidRequest` with the reason. */
export async function assertAcceptable(password: string, email: string, param: string): Promise<void> {
  const fault = await faultOf(password.normalize('NFKC').toLowerCase(), email);
  if (fault !== undefined) throw refusal(fault, param);
}

const advice = 'Choose a different one, for example four random words.';
/** Messages by the `reason` of the error. */
const messages = {
  password_blank: `This password is blank. ${advice}`,
  password_repeated: `This password repeats a single character. ${advice}`,
  password_common: `This password is too common. ${advice}`,
  password_email: `This password is based on the email address. ${advice}`,
  password_unchanged: 'The new password must be different from the current one.',
};
type Fault = keyof typeof messages;

const refusal = (reason: Fault, param: string) => {
  const { [reason]: message } = messages;
  return new ApiError('invalidRequest', {
    message,
    param,
    reason,
    details: [{ path: `/${param}`, message }],
  });
};

async function faultOf(password: string, email: string): Promise<Fault | undefined> {
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(password)) return 'password_blank';
  if (/^(.)\1*$/su.test(password)) return 'password_repeated';
  const common = await commonPasswords();
  if (common.has(password) || common.has(password.trim())) return 'password_common';
  return isMadeOf(password, email) ? 'password_email' : undefined;
}

export function assertDifferent(current: string, next: string, param: string): void {
  if (current.normalize('NFKC') === next.normalize('NFKC')) throw refusal('password_unchanged', param);
}
