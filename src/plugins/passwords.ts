/** Checks passwords within the rate limits. Records failures in the audit trail. Contract sections 1, 5, and 9. */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isKnownDevice, type MarkedAccount } from '../domain/device-cookie.ts';
import { commonPasswords } from '../domain/password-rules.ts';
import { verifyPassword } from '../domain/passwords.ts';
import { addressKey, sourceOf } from '../limits/address.ts';
import type { ProvenAccount } from '../store/accounts.ts';
import { recordEvent } from '../store/events.ts';
import { deviceOf, ownSession } from './sessions.ts';

/** The account that the client claims. The client has not proved the password yet. */
type Claimed = ProvenAccount & MarkedAccount & { signInsResetAt: Date | null };

declare module 'fastify' {
  interface FastifyRequest {
    failedAccountId: string | null;
  }
}

async function verified(
  request: FastifyRequest,
  account: ProvenAccount | undefined,
  password: string,
): Promise<boolean> {
  const isRight = await verifyPassword(account?.passwordHash ?? null, password, addressKey(request.ip));
  if (!isRight && account !== undefined) request.failedAccountId = account.id;
  return isRight;
}

/** Checks the password of a sign-in. Takes equally long without an account. Throws like `checkCurrentPassword`. */
export async function checkSignIn(
  request: FastifyRequest,
  email: string,
  account: Claimed | undefined,
  password: string,
): Promise<boolean> {
  const { limits, sessionSecrets } = request.server;
  const device = deviceOf(request);
  const isKnown = device !== undefined && isKnownDevice(device, account, sessionSecrets);
  const knownDevice = isKnown ? device.nonce : null;
  const attempt = { email, knownDevice, resetAt: account?.signInsResetAt ?? null };
  return limits.limitSignIn(request, attempt, () => verified(request, account, password));
}

/** Checks the password of the signed-in account. Throws `rateLimitExceeded` or `overloaded`. */
export async function checkCurrentPassword(
  request: FastifyRequest,
  account: ProvenAccount,
  password: string,
): Promise<boolean> {
  const { limits } = request.server;
  return limits.limitSession(ownSession(request).id, () => verified(request, account, password));
}

export default fp(
  async (app) => {
    const { db, limits } = app;
    app.decorateRequest('failedAccountId', null);
    app.addHook('onReady', async () => {
      await commonPasswords();
    });

    // After the response, so that its timing does not reveal whether the account exists. Once a minute, so that an
    // attacker cannot fill the audit trail.
    app.addHook('onResponse', async (request) => {
      const { failedAccountId: accountId } = request;
      if (accountId === null || !(await limits.countFailure(accountId))) return;
      const event = { accountId, type: 'signInFailed', from: sourceOf(request) } as const;
      await recordEvent(db, event).catch((err) =>
        request.log.warn({ err }, 'Could not record a failed sign-in.'),
      );
    });
  },
  { name: 'passwords', dependencies: ['services', 'sessions', 'rate-limit'] },
);
