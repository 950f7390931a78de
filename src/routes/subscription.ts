/** The account's plan. Contract sections 1, 2, and 13 (`BILLING`). */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Subscription, UpdateSubscription } from '../../schemas/plans.ts';
import { priceCents } from '../domain/plans.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import { type Account, findAccount, setPlan } from '../store/accounts.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { billing, operatorContact, plans } = app.config;

  const toSubscription = (account: Account) => {
    const plan = plans.of(account);
    return {
      plan: plan.id,
      billing_period: account.billingPeriod,
      price_cents: priceCents(plan, account.billingPeriod),
      currency: plan.currency,
      limits: plan.limits,
      requests_per_minute: plan.requests_per_minute,
      self_serve: billing === 'open',
      changed_at: account.planChangedAt.toISOString(),
    };
  };

  app.get(
    '/subscription',
    {
      schema: {
        operationId: 'getSubscription',
        summary: 'Read the subscription',
        description: "Returns the account's plan, its billing, and its limits.",
        tags: ['Plans'],
        response: { 200: ref(Subscription) },
      },
    },
    async (request) => {
      const account = await findAccount(app.db, request.caller.accountId);
      if (account === undefined) throw new ApiError('sessionRequired');
      return toSubscription(account);
    },
  );

  app.put(
    '/subscription',
    {
      schema: {
        operationId: 'updateSubscription',
        summary: 'Change the plan',
        description:
          "Takes effect immediately. Today's usage still counts. If the operator manages plans, returns 403 `planNotSelfServe`.",
        tags: ['Plans'],
        body: ref(UpdateSubscription),
        response: { 200: ref(Subscription) },
      },
      config: { errors: ['planNotSelfServe'] },
    },
    async (request) => {
      if (billing === 'managed') {
        const whom = operatorContact === null ? 'the operator' : `the operator: ${operatorContact}`;
        throw new ApiError('planNotSelfServe', {
          message: `Only the operator can change plans on this service. To change yours, contact ${whom}.`,
        });
      }
      const plan = plans.find(request.body.plan);
      if (plan === undefined) {
        const known = plans.plans.map(({ id }) => id).join(', ');
        throw new ApiError('invalidRequest', {
          message: `This plan does not exist. Available plans: ${known}.`,
          param: 'plan',
        });
      }
      const { accountId } = request.caller;
      const period = request.body.billing_period;
      const account = await setPlan(app.db, accountId, plan.id, period, sourceOf(request));
      if (account === undefined) throw new ApiError('sessionRequired');
      return toSubscription(account);
    },
  );
};

export default routes;
