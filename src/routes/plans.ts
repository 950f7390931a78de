/** The available plans. Contract section 2. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { PlanList } from '../../schemas/plans.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { plans } = app.config.plans;

  app.get(
    '/plans',
    {
      schema: {
        operationId: 'listPlans',
        summary: 'List plans',
        description: 'Lists the prices and limits of every plan, in display order. No credentials required.',
        tags: ['Plans'],
        response: { 200: ref(PlanList) },
      },
      config: { errors: ['rateLimitExceeded'] },
    },
    async () => ({ data: [...plans] }),
  );
};

export default routes;
