/**
 * The cookie of a device that signed in before: a random nonce of the device, and a mark for each account that signed in on
 * it. Only the server can make a mark, and it shows nobody which account it is for. Who steals or copies one gets no
 * session, only a limit of failed sign-ins of its own. Contract section 5, argued in docs/decisions/0020-sign-in-and-sign-up.md.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a mark is made for: it is worthless once the account is gone or its owner has changed the password. */
export type MarkedAccount = { id: string; devicesResetAt: Date | null };

export type Device = { nonce: string; marks: readonly string[] };

type Secrets = readonly [string, ...string[]];

/** Accounts that a device is kept for; beyond that it forgets the one that signed in longest ago. */
const ACCOUNTS_AT_MOST = 5;
const BYTES = 16;

const cookie = /^[\w-]{22}(\.[\w-]{22}){1,5}$/;

/** Takes as long for an account that does not exist. */
const nobody: MarkedAccount = { id: '00000000-0000-0000-0000-000000000000', devicesResetAt: null };

const markOf = (secret: string, nonce: string, { devicesResetAt, id }: MarkedAccount): Buffer =>
  createHmac('sha256', secret)
    .update(`device:${nonce}:${id}:${devicesResetAt?.getTime() ?? 0}`)
    .digest()
    .subarray(0, BYTES);

/** Reads the cookie's value; undefined where it is none of ours. Whether its marks are real is not known yet. */
export function parseDevice(value: string | undefined): Device | undefined {
  if (value === undefined || !cookie.test(value)) return undefined;
  const [nonce = '', ...marks] = value.split('.');
  return { nonce, marks };
}

/**
 * Whether the account signed in on the device before.
 *
 * @param account - undefined where there is none with the email address
 * @param secrets - a mark made with any of them counts
 */
export function isKnownDevice(device: Device, account: MarkedAccount | undefined, secrets: Secrets): boolean {
  const marks = device.marks.map((mark) => Buffer.from(mark, 'base64url'));
  let isKnown = false;
  for (const secret of secrets) {
    const real = markOf(secret, device.nonce, account ?? nobody);
    for (const mark of marks) isKnown = timingSafeEqual(mark, real) || isKnown;
  }
  return isKnown && account !== undefined;
}

/**
 * Marks a device for an account that just proved its password.
 *
 * @param device - what it is known as so far
 * @returns the cookie's value
 */
export function markDevice(device: Device | undefined, account: MarkedAccount, secrets: Secrets): string {
  const nonce = device?.nonce ?? randomBytes(BYTES).toString('base64url');
  const mark = (secret: string) => markOf(secret, nonce, account).toString('base64url');
  const ofAccount = new Set(secrets.map(mark));
  const others = (device?.marks ?? []).filter((one) => !ofAccount.has(one));
  return [nonce, mark(secrets[0]), ...others.slice(0, ACCOUNTS_AT_MOST - 1)].join('.');
}
