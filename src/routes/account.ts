/** The signed-in account. Contract sections 1 and 9. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import {
  Account as AccountSchema,
  ChangePassword,
  DeleteAccount,
  UpdateAccount,
} from '../../schemas/accounts.ts';
import { NoContent, ref } from '../../schemas/common.ts';
import type { Config } from '../config.ts';
import { isOperator, isReservedAddress } from '../domain/operators.ts';
import { assertAcceptable, assertDifferent } from '../domain/password-rules.ts';
import { hashPassword } from '../domain/passwords.ts';
import { ApiError } from '../errors.ts';
import { addressKey, sourceOf } from '../limits/address.ts';
import { checkCurrentPassword } from '../plugins/passwords.ts';
import { beginSession, clearSessionCookie } from '../plugins/sessions.ts';
import { type Account, deleteAccount, findAccount, updateEmail, updatePassword } from '../store/accounts.ts';

/** An account as its owner sees it. An account with a discontinued plan is on the standard plan. */
export const toAccount = (account: Account, config: Config) => ({
  id: account.id,
  email: account.email,
  plan: config.plans.of(account).id,
  billing_period: account.billingPeriod,
  created_at: account.createdAt.toISOString(),
  ...(isOperator(account, config) && { is_operator: true }),
});

/** @throws ApiError `emailTaken` if the address belongs to an operator, because addresses are not verified */
export function assertNotReserved(email: string, config: Config): void {
  if (!isReservedAddress(email, config)) return;
  throw new ApiError('emailTaken', {
    message:
      'This email address is reserved for an operator of the service. To create its account, run `npx parley accounts create EMAIL` on the server.',
    param: 'email',
  });
}

const wrongPassword = () =>
  new ApiError('invalidLogin', { message: 'The current password is incorrect.', param: 'current_password' });
const errorExamples = { ForCurrentPassword: wrongPassword() };

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { config, db } = app;

  /** @throws ApiError `sessionRequired` if the account was deleted after the session was read */
  const currentAccount = async (request: FastifyRequest): Promise<Account> => {
    const account = await findAccount(db, request.caller.accountId);
    if (account === undefined) throw new ApiError('sessionRequired');
    return account;
  };

  /** @throws ApiError `invalidLogin`, `rateLimitExceeded` */
  const prove = async (request: FastifyRequest, account: Account, password: string): Promise<Account> => {
    if (!(await checkCurrentPassword(request, account, password))) throw wrongPassword();
    return account;
  };

  const provenAccount = async (request: FastifyRequest, password: string): Promise<Account> =>
    prove(request, await currentAccount(request), password);

  app.get(
    '/account',
    {
      schema: {
        operationId: 'getAccount',
        summary: 'Read the account',
        description: 'Returns the signed-in account.',
        tags: ['Account'],
        response: { 200: ref(AccountSchema) },
      },
    },
    async (request) => toAccount(await currentAccount(request), config),
  );

  app.patch(
    '/account',
    {
      schema: {
        operationId: 'updateAccount',
        summary: 'Change the email address',
        description:
          'Changes the address that the account signs in with. Sessions and keys stay valid. Requires the current password. At most 5 attempts per hour.',
        tags: ['Account'],
        body: ref(UpdateAccount),
        response: { 200: ref(AccountSchema) },
      },
      config: { errors: ['invalidLogin', 'emailTaken', 'overloaded'], errorExamples },
    },
    async (request) => {
      const { current_password: password, email } = request.body;
      const account = await provenAccount(request, password);
      // Limits how fast anyone can probe for existing accounts.
      await app.limits.countEmailChange(account.id);
      if (email.toLowerCase() !== account.emailKey) assertNotReserved(email, config);
      const updated = await updateEmail(db, account, email, sourceOf(request));
      if (updated === undefined) throw wrongPassword();
      return toAccount(updated, config);
    },
  );

  app.delete(
    '/account',
    {
      schema: {
        operationId: 'deleteAccount',
        summary: 'Delete the account',
        description:
          "Immediately ends every session, revokes every key, and frees the email address. The account's data is removed soon after. This cannot be undone. Requires the current password.",
        tags: ['Account'],
        body: ref(DeleteAccount),
        response: { 204: NoContent },
      },
      config: { errors: ['invalidLogin', 'overloaded'], errorExamples, setsCookie: true },
    },
    async (request, reply) => {
      const isDeleted = await deleteAccount(db, await provenAccount(request, request.body.current_password));
      if (!isDeleted) throw wrongPassword();
      clearSessionCookie(reply);
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/account/password',
    {
      schema: {
        operationId: 'changePassword',
        summary: 'Change the password',
        description:
          'Ends all other sessions of the account. This session continues with a new cookie. Keys stay valid. Requires the current password.',
        tags: ['Account'],
        body: ref(ChangePassword),
        response: { 204: NoContent },
      },
      config: { errors: ['invalidLogin', 'overloaded'], errorExamples, setsCookie: true },
    },
    async (request, reply) => {
      const { current_password: current, new_password: next } = request.body;
      const account = await currentAccount(request);
      assertDifferent(current, next, 'new_password');
      await assertAcceptable(next, account.email, 'new_password');
      await prove(request, account, current);
      const passwordHash = await hashPassword(next, addressKey(request.ip));
      const updated = await updatePassword(db, account, passwordHash, sourceOf(request));
      if (updated === undefined) throw wrongPassword();
      await beginSession(request, updated, null);
      return reply.code(204).send(null);
    },
  );
};

export default routes;
