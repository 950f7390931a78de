/**
 * The device cookie: a nonce, and a mark for each account that signed in on the device. Only the server can create
 * marks, and they do not reveal the account. A stolen cookie does not grant a session, only a separate limit of failed
 * sign-ins. Contract section 5, argued in docs/decisions/0020-sign-in-and-sign-up.md.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Marks become invalid when the account is deleted or its owner changes the password. */
export type MarkedAccount = { id: string; devicesResetAt: Date | null };

export type Device = { nonce: string; marks: readonly string[] };

type Secrets = readonly [string, ...string[]];

/** The limit per device. Beyond it, the device forgets the account that signed in longest ago. */
const ACCOUNTS_AT_MOST = 5;
const BYTES = 16;

const cookie = /^[\w-]{22}(\.[\w-]{22}){1,5}$/;

/** Stands for an unknown account, whose check must take equally long. */
const nobody: MarkedAccount = { id: '00000000-0000-0000-0000-000000000000', devicesResetAt: null };

const markOf = (secret: string, nonce: string, { devicesResetAt, id }: MarkedAccount): Buffer =>
  createHmac('sha256', secret)
    .update(`device:${nonce}:${id}:${devicesResetAt?.getTime() ?? 0}`)
    .digest()
    .subarray(0, BYTES);

/** Parses a cookie without verifying its marks. */
export function parseDevice(value: string | undefined): Device | undefined {
  if (value === undefined || !cookie.test(value)) return undefined;
  const [nonce = '', ...marks] = value.split('.');
  return { nonce, marks };
}

/** `account` is undefined if no account has the email address. A mark made with any of the secrets counts. */
export function isKnownDevice(device: Device, account: MarkedAccount | undefined, secrets: Secrets): boolean {
  const marks = device.marks.map((mark) => Buffer.from(mark, 'base64url'));
  let isKnown = false;
  for (const secret of secrets) {
    const real = markOf(secret, device.nonce, account ?? nobody);
    for (const mark of marks) isKnown = timingSafeEqual(mark, real) || isKnown;
  }
  return isKnown && account !== undefined;
}

/** Marks a device for an account that has just proved its password. Returns the new value of the cookie. */
export function markDevice(device: Device | undefined, account: MarkedAccount, secrets: Secrets): string {
  const nonce = device?.nonce ?? randomBytes(BYTES).toString('base64url');
  const mark = (secret: string) => markOf(secret, nonce, account).toString('base64url');
  const ofAccount = new Set(secrets.map(mark));
  const others = (device?.marks ?? []).filter((one) => !ofAccount.has(one));
  return [nonce, mark(secrets[0]), ...others.slice(0, ACCOUNTS_AT_MOST - 1)].join('.');
}
