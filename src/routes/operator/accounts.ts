/** All accounts, for operators. Contract sections 9 and 17. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { idParams, NoContent, ref } from '../../../schemas/common.ts';
import {
  ChangeAccount,
  CreateAccount,
  CreatedAccount,
  NewPassword,
  OperatorAccount,
  OperatorAccountDetails,
  OperatorAccountList,
  OperatorAccountQuery,
  OperatorRequestLog,
  OperatorRequestQuery,
} from '../../../schemas/operator.ts';
import { decodeCursor, pageOf } from '../../domain/cursor.ts';
import { assertAcceptable } from '../../domain/password-rules.ts';
import { hashPassword } from '../../domain/passwords.ts';
import { newPassword } from '../../domain/random-password.ts';
import { ApiError } from '../../errors.ts';
import type { KeyLookup } from '../../keys/lookup.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { actingOperator } from '../../plugins/operator-guard.ts';
import { readLogPage } from '../../request-log/page.ts';
import { type Account, findAccount } from '../../store/accounts.ts';
import { costsOfAccount, countOfAccount, listAccounts } from '../../store/operator.ts';
import {
  changeAccountAs,
  createAccountAs,
  deleteAccountAs,
  resetPasswordAs,
} from '../../store/operator-acts.ts';
import { listKeyLabels } from '../../store/usage-history.ts';
import { toUsage } from '../usage.ts';
import { toKeyLabel } from '../usage-history.ts';

/** The log shows no name for keys that ended earlier. */
const KEY_DAYS = 90;
const COST_DAYS = 30;

const AccountParams = idParams("The account's ID.");

const noSuchAccount = () => new ApiError('notFound', { message: 'There is no account with this ID.' });
const errorExamples = { ForAccount: noSuchAccount() };

const toOperatorAccount = (account: Account) => ({
  id: account.id,
  email: account.email,
  plan: account.plan,
  billing_period: account.billingPeriod,
  created_at: account.createdAt.toISOString(),
  suspended_at: account.suspendedAt?.toISOString() ?? null,
});

type Options = { keyLookup: KeyLookup; ledger: Ledger };

const routes: FastifyPluginAsyncTypebox<Options> = async (app, { keyLookup, ledger }) => {
  const { db } = app;
  const { plans } = app.config;

  const accountWith = async (id: string): Promise<Account> => {
    const account = await findAccount(db, id);
    if (account === undefined) throw noSuchAccount();
    return account;
  };

  const assertPlan = (id: string): string => {
    if (plans.find(id) !== undefined) return id;
    const known = plans.plans.map((plan) => plan.id).join(', ');
    throw new ApiError('invalidRequest', {
      message: `This plan does not exist. Available plans: ${known}.`,
      param: 'plan',
    });
  };

  app.get(
    '/operator/accounts',
    {
      schema: {
        operationId: 'listAccounts',
        summary: 'List accounts',
        description: 'Lists all accounts, newest first.',
        tags: ['Operator'],
        querystring: OperatorAccountQuery,
        response: { 200: ref(OperatorAccountList) },
      },
    },
    async (request) => {
      const { cursor, limit = 50, suspended, ...filter } = request.query;
      const [after] = cursor === undefined ? [] : decodeCursor(cursor, ['uuid']);
      const found = await listAccounts(db, {
        ...filter,
        after,
        suspended: suspended !== undefined,
        limit: limit + 1,
      });
      const { nextCursor, page } = pageOf(found, limit, ({ id }) => [id]);
      return { data: page.map(toOperatorAccount), next_cursor: nextCursor };
    },
  );

  app.post(
    '/operator/accounts',
    {
      schema: {
        operationId: 'createAccount',
        summary: 'Create an account',
        description:
          'Creates an account with a random password, even if sign-ups are closed. Only this response contains the password.',
        tags: ['Operator'],
        body: ref(CreateAccount),
        response: { 201: ref(CreatedAccount) },
      },
      config: { errors: ['emailTaken', 'overloaded'] },
    },
    async (request, reply) => {
      const { billing_period: billingPeriod = 'monthly', email, plan = plans.standard.id } = request.body;
      assertPlan(plan);
      const password = newPassword();
      await assertAcceptable(password, email, 'email');
      const newAccount = { email, plan, billingPeriod, passwordHash: await hashPassword(password) };
      const account = await createAccountAs(db, actingOperator(request), newAccount);
      return reply.code(201).send({ ...toOperatorAccount(account), password });
    },
  );

  app.get(
    '/operator/accounts/:id',
    {
      schema: {
        operationId: 'getAccountOfOwner',
        summary: 'Read any account',
        description: "Returns an account with today's usage and how many keys and sessions it has.",
        tags: ['Operator'],
        params: AccountParams,
        response: { 200: ref(OperatorAccountDetails) },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request) => {
      const { id } = request.params;
      const [account, counts, reading, keys, costs] = await Promise.all([
        accountWith(id),
        countOfAccount(db, id),
        ledger.usage(id),
        listKeyLabels(db, id, KEY_DAYS),
        costsOfAccount(db, id, COST_DAYS),
      ]);
      if (reading === undefined) throw noSuchAccount();
      return {
        ...toOperatorAccount(account),
        active_keys: counts.keys,
        open_sessions: counts.sessions,
        usage: toUsage(reading, plans),
        excess_tokens: reading.excess,
        keys: keys.map(toKeyLabel),
        costs: costs.map(({ micros, ...cost }) => ({ ...cost, cost_micros: micros })),
        currency: app.engines.router?.currency ?? null,
      };
    },
  );

  app.patch(
    '/operator/accounts/:id',
    {
      schema: {
        operationId: 'changeAccount',
        summary: 'Change the plan of an account, or suspend it',
        description:
          'Changes take effect on every replica within a second. Suspending ends the sessions of the account; its keys are refused, but not revoked.',
        tags: ['Operator'],
        params: AccountParams,
        body: ref(ChangeAccount),
        response: { 200: ref(OperatorAccount) },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request) => {
      const { id } = request.params;
      const { billing_period: billingPeriod, plan, suspended: isSuspended } = request.body;
      if (plan !== undefined) assertPlan(plan);
      if (isSuspended && id === request.caller.accountId)
        throw new ApiError('invalidRequest', {
          message: 'You cannot suspend your own account.',
          param: 'suspended',
        });
      const account = await changeAccountAs(db, actingOperator(request), id, {
        ...(plan !== undefined && { plan }),
        ...(billingPeriod !== undefined && { billingPeriod }),
        ...(isSuspended !== undefined && { isSuspended }),
      });
      if (account === undefined) throw noSuchAccount();
      keyLookup.forget(id);
      return toOperatorAccount(account);
    },
  );

  app.delete(
    '/operator/accounts/:id',
    {
      schema: {
        operationId: 'deleteAccountOfOwner',
        summary: 'Delete any account',
        description:
          'Immediately ends its sessions and revokes its keys. Its data is removed soon after. This cannot be undone.',
        tags: ['Operator'],
        params: AccountParams,
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request, reply) => {
      const account = await accountWith(request.params.id);
      if (account.id === request.caller.accountId)
        throw new ApiError('invalidRequest', {
          message: 'You cannot delete your own account here. Use Settings.',
          param: 'id',
        });
      if (!(await deleteAccountAs(db, actingOperator(request), account))) throw noSuchAccount();
      keyLookup.forget(account.id);
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/operator/accounts/:id/reset-password',
    {
      schema: {
        operationId: 'resetPassword',
        summary: 'Reset the password of an account',
        description:
          'Sets a random password, which only this response contains, and ends the sessions of the account. Its keys still work.',
        tags: ['Operator'],
        params: AccountParams,
        response: { 200: ref(NewPassword) },
      },
      config: { errors: ['notFound', 'overloaded'], errorExamples },
    },
    async (request) => {
      const account = await accountWith(request.params.id);
      const password = newPassword();
      await assertAcceptable(password, account.email, 'id');
      const passwordHash = await hashPassword(password);
      const updated = await resetPasswordAs(db, actingOperator(request), account, passwordHash);
      if (updated === undefined) throw noSuchAccount();
      return { password };
    },
  );

  app.get(
    '/operator/accounts/:id/requests',
    {
      schema: {
        operationId: 'listRequestsOfAccount',
        summary: 'Read the request log of any account',
        description:
          'Returns the same rows that the owner sees, plus the upstream of each request. Shows why requests were refused.',
        tags: ['Operator'],
        params: AccountParams,
        querystring: OperatorRequestQuery,
        response: { 200: ref(OperatorRequestLog) },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request) => {
      const { id } = await accountWith(request.params.id);
      const { request_id: requestId, ...query } = request.query;
      return readLogPage(db, id, { ...query, ...(requestId !== undefined && { id: requestId }) });
    },
  );
};

export default routes;
