/**
 * Checks passwords as the limits allow, and tells the account's audit trail of those that were wrong. Contract sections
 * 1, 5 and 9.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isKnownDevice, type MarkedAccount } from '../domain/device-cookie.ts';
import { commonPasswords } from '../domain/password-rules.ts';
import { verifyPassword } from '../domain/passwords.ts';
import { addressKey, sourceOf } from '../limits/address.ts';
import type { ProvenAccount } from '../store/accounts.ts';
import { recordEvent } from '../store/events.ts';
import { deviceOf, ownSession } from './sessions.ts';

/** An account that somebody says is theirs. */
type Claimed = ProvenAccount & MarkedAccount & { signInsResetAt: Date | null };

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Whether the password of a sign-in is the account's. Takes as long where there is no account.
     *
     * @param account - undefined where there is none with the e-mail address
     * @throws ApiError `rateLimitExceeded`, `overloaded`
     */
    checkSignIn(
      request: FastifyRequest,
      email: string,
      account: Claimed | undefined,
      password: string,
    ): Promise<boolean>;
    /**
     * Whether the password is that of the account that is signed in.
     *
     * @throws ApiError `rateLimitExceeded`, `overloaded`
     */
    checkCurrentPassword(request: FastifyRequest, account: ProvenAccount, password: string): Promise<boolean>;
  }
  interface FastifyRequest {
    /** The account whose password it did not know. */
    failedAccountId: string | null;
  }
}

export default fp(
  async (app) => {
    const { db, limits, sessionSecrets } = app;
    app.decorateRequest('failedAccountId', null);
    // Read before the first request: it takes a while.
    app.addHook('onReady', async () => {
      await commonPasswords();
    });

    const verified = async (
      request: FastifyRequest,
      account: ProvenAccount | undefined,
      password: string,
    ) => {
      const isRight = await verifyPassword(account?.passwordHash ?? null, password, addressKey(request.ip));
      if (!isRight && account !== undefined) request.failedAccountId = account.id;
      return isRight;
    };

    app.decorate('checkSignIn', (request, email, account, password) => {
      const device = deviceOf(request);
      const isKnown = device !== undefined && isKnownDevice(device, account, sessionSecrets);
      const knownDevice = isKnown ? device.nonce : null;
      const attempt = { email, knownDevice, resetAt: account?.signInsResetAt ?? null };
      return limits.limitSignIn(request, attempt, () => verified(request, account, password));
    });

    app.decorate('checkCurrentPassword', (request, account, password) =>
      limits.limitSession(ownSession(request).id, () => verified(request, account, password)),
    );

    // Behind the answer, whose time must not tell whether there is such an account. Once a minute, so that whoever
    // attacks an account does not fill its trail.
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
