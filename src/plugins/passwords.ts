/**
 * Checks passwords as the limits allow, and tells the account's audit trail of those that were wrong. Contract sections
 * 1, 5 and 9.
 */
import fp from 'fastify-plugin';
import { verifyPassword } from '../domain/passwords.ts';
import type { ProvenAccount } from '../store/accounts.ts';
import { recordEvent } from '../store/events.ts';
import { sourceOf } from './address.ts';
import type {} from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Whether the password is the account's. Takes as long where there is no account.
     *
     * @param account - undefined where there is none with the e-mail address
     * @throws ApiError `rateLimitExceeded`, `overloaded`
     */
    checkPassword(
      request: FastifyRequest,
      email: string,
      account: ProvenAccount | undefined,
      password: string,
    ): Promise<boolean>;
  }
  interface FastifyRequest {
    /** The account whose password it did not know. */
    failedAccountId: string | null;
  }
}

export default fp(
  async (app) => {
    const { db, limits } = app;
    app.decorateRequest('failedAccountId', null);

    app.decorate('checkPassword', async (request, email, account, password) => {
      const isRight = await limits.checkPassword(request, email, () =>
        verifyPassword(account?.passwordHash ?? null, password),
      );
      if (!isRight && account !== undefined) request.failedAccountId = account.id;
      return isRight;
    });

    // Behind the answer, whose time must not tell whether there is such an account. Once a minute, so that whoever
    // attacks an account does not fill its trail.
    app.addHook('onResponse', async (request) => {
      const { failedAccountId: accountId } = request;
      if (accountId === null || !(await limits.countFailure(accountId))) return;
      const event = { accountId, type: 'signInFailed', from: sourceOf(request) } as const;
      await recordEvent(db, event).catch((err) =>
        request.log.warn({ err }, 'A failed sign-in could not be recorded.'),
      );
    });
  },
  { name: 'passwords', dependencies: ['settings', 'rate-limit'] },
);
