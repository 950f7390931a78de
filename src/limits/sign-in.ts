/**
 * Limits sign-ins, password checks, new accounts, and email changes. Each attempt is counted first, and uncounted later
 * if it should not count. Concurrent attempts therefore cannot exceed a limit. Contract section 5,
 * docs/decisions/0020-sign-in-and-sign-up.md.
 */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { LimitReading } from '../rate-headers.ts';
import { addressKey, isLoopback } from './address.ts';
import { rateLimitExceeded } from './exceeded.ts';
import type { Windows } from './memory-windows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Failed sign-ins per hour: for an email address from unknown devices, for a known device, and for a session. */
const FAILURES_PER_HOUR = 100;
/** Hourly failures from one IP address, as a multiple of the per-minute limit of one email address. */
const ADDRESS_FACTOR = 10;
const EMAIL_CHANGES_PER_HOUR = 5;

export type SignInAttempt = {
  email: string;
  /** When the account's limits were last reset. Null if never, or if there is no account. */
  resetAt: Date | null;
  /** The nonce of a device that has signed in to the account before. */
  knownDevice: string | null;
};

export type SignInLimits = {
  /**
   * Checks a password unless too many sign-ins failed. Throws ApiError `rateLimitExceeded`, and what `check` throws.
   */
  limitSignIn(
    request: FastifyRequest,
    attempt: SignInAttempt,
    check: () => Promise<boolean>,
  ): Promise<boolean>;
  /** Checks the current password unless it was wrong too often in this session. Throws like `limitSignIn`. */
  limitSession(sessionId: string, check: () => Promise<boolean>): Promise<boolean>;
  /** Creates an account unless its IP address created too many today. If `make` throws, the attempt does not count. */
  limitNewAccount<T>(request: FastifyRequest, make: () => Promise<T>): Promise<T>;
  /** @throws ApiError `rateLimitExceeded` */
  countEmailChange(accountId: string): Promise<void>;
  /** Counts a failed sign-in of a known account. Returns whether it is the first within a minute. */
  countFailure(accountId: string): Promise<boolean>;
};

/** A counted limit. `key` begins with the limit's name and a colon. */
type Counted = { name: string; what: string; ceiling: number; windowMs: number; key: string };

/** The configuration settings of the same names. */
type Ceilings = {
  authAttemptsPerMinute: number;
  signupsPerAddressPerDay: Readonly<{ count: number; limitsLoopback: boolean }>;
};

/** Fixed-length keys that do not reveal email addresses to readers of Redis. */
const digestOf = (...parts: (string | number)[]) =>
  createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 22);

export function signInLimits(
  windows: Windows,
  { authAttemptsPerMinute, signupsPerAddressPerDay }: Ceilings,
): SignInLimits {
  async function count({ ceiling, key, name, what, windowMs }: Counted): Promise<void> {
    const { current, ttl } = await windows.take(key, windowMs);
    if (current <= ceiling) return;
    await windows.takeBack(key);
    const reading: LimitReading = {
      name,
      ceiling,
      remaining: 0,
      windowSeconds: windowMs / 1000,
      resetSeconds: Math.max(1, Math.ceil(ttl / 1000)),
    };
    throw rateLimitExceeded(reading, what);
  }

  /** Counts an attempt in each window, in order. An attempt that any limit rejects counts in none. */
  async function attempt<T>(
    counted: Counted[],
    run: () => Promise<T>,
    counts: (result?: T) => boolean,
  ): Promise<T> {
    const taken: string[] = [];
    const takeBack = () => Promise.all(taken.map((key) => windows.takeBack(key)));
    let result: T | undefined;
    let isOver = false;
    try {
      for (const one of counted) {
        await count(one);
        taken.push(one.key);
      }
      result = await run();
      isOver = true;
      return result;
    } finally {
      if (!(isOver && counts(result))) await takeBack();
    }
  }

  const ifWrong = (isRight?: boolean) => isRight === false;

  const failed = (key: string, ceiling: number, windowMs: number): Counted => ({
    name: 'sign_in',
    what: 'failed sign-ins',
    ceiling,
    windowMs,
    key,
  });
  const wrongPassword = (key: string, ceiling: number, windowMs: number): Counted => ({
    ...failed(key, ceiling, windowMs),
    name: 'current_password',
    what: 'wrong passwords',
  });

  /** `resetAt` is part of every key, so that resetting limits only changes the database. */
  function windowsOf(request: FastifyRequest, { email, knownDevice, resetAt }: SignInAttempt): Counted[] {
    const who = digestOf(email.toLowerCase(), resetAt?.getTime() ?? 0);
    if (knownDevice !== null) {
      const device = digestOf(who, knownDevice);
      return [
        failed(`sign-in-device:${device}`, authAttemptsPerMinute, MINUTE_MS),
        failed(`sign-in-device-hour:${device}`, FAILURES_PER_HOUR, HOUR_MS),
      ];
    }
    const address = addressKey(request.ip);
    const ofAddress = failed(`sign-in-address:${address}`, ADDRESS_FACTOR * authAttemptsPerMinute, HOUR_MS);
    // The owner may have used up this address's limit before asking the operator for help.
    const wasJustReset = resetAt !== null && Date.now() - resetAt.getTime() < HOUR_MS;
    return [
      failed(`sign-in:${who}:${address}`, authAttemptsPerMinute, MINUTE_MS),
      ...(wasJustReset ? [] : [ofAddress]),
      failed(`sign-in-hour:${who}`, FAILURES_PER_HOUR, HOUR_MS),
    ];
  }

  return {
    limitSignIn: (request, who, check) => attempt(windowsOf(request, who), check, ifWrong),
    limitSession: (sessionId, check) => {
      const limits = [
        wrongPassword(`session-password:${sessionId}`, authAttemptsPerMinute, MINUTE_MS),
        wrongPassword(`session-password-hour:${sessionId}`, FAILURES_PER_HOUR, HOUR_MS),
      ];
      return attempt(limits, check, ifWrong);
    },
    limitNewAccount: ({ ip }, make) => {
      const { count: ceiling, limitsLoopback } = signupsPerAddressPerDay;
      if (!limitsLoopback && isLoopback(ip)) return make();
      const key = `sign-up-day:${addressKey(ip)}`;
      const ofDay = { name: 'sign_up', what: 'new accounts', ceiling, windowMs: DAY_MS, key };
      return attempt([ofDay], make, () => true);
    },
    countEmailChange: (accountId) =>
      count({
        name: 'email_change',
        what: 'email address changes',
        ceiling: EMAIL_CHANGES_PER_HOUR,
        windowMs: HOUR_MS,
        key: `email-change:${accountId}`,
      }),
    countFailure: async (accountId) => {
      const { current } = await windows.take(`failure:${accountId}`, MINUTE_MS);
      return current === 1;
    },
  };
}
