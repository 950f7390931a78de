/** Today's quota usage. Service document section 2, contract section 2. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Usage } from '../../schemas/usage.ts';
import { includes, type PlanCatalog, tokensCeilingOf } from '../domain/plans.ts';
import { accountGone } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { nextReset } from '../ledger/quota.ts';
import type { UsageReading } from '../store/usage.ts';

/** Today's usage as its owner sees it. */
export function toUsage(reading: UsageReading, plans: PlanCatalog) {
  const plan = plans.of(reading);
  const { embeddings, ...used } = reading.used;
  return {
    plan: plan.id,
    used: includes(plan, 'embeddings') ? { ...used, embeddings } : used,
    limits: plan.limits,
    ...(tokensCeilingOf(plan) !== null && { reserved_tokens: reading.reserved }),
    resetsAt: nextReset(reading.readAt).toISOString(),
  };
}

const routes: FastifyPluginAsyncTypebox<{ ledger: Ledger }> = async (app, { ledger }) => {
  const { plans } = app.config;

  app.get(
    '/usage',
    {
      schema: {
        operationId: 'getUsage',
        summary: "Read today's usage",
        description:
          "Returns the account's usage since 00:00 UTC across all keys and the web, the limits of its plan, and the time of the next reset.",
        tags: ['Usage'],
        response: { 200: ref(Usage) },
      },
      config: { scope: 'usage' },
    },
    async (request) => {
      const reading = await ledger.usage(request.caller.accountId);
      if (reading === undefined) throw accountGone(request.caller.keyId);
      return toUsage(reading, plans);
    },
  );
};

export default routes;
