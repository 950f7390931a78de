/** The state of the service, for its operators. Contract section 17. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../../schemas/common.ts';
import { OperatorOverview } from '../../../schemas/operator.ts';
import { readJobReports } from '../../jobs/maintenance.ts';
import { readOverview } from '../../store/overview.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/operator/overview',
    {
      schema: {
        operationId: 'getOperatorOverview',
        summary: 'Read the state of the service',
        description:
          "Returns today's load, the causes of refusals and the slowest requests in the last hour, the health of upstreams as seen by the replica that responds, and background jobs.",
        tags: ['Operator'],
        response: { 200: ref(OperatorOverview) },
      },
    },
    async () => {
      const [{ costs, ...overview }, jobs] = await Promise.all([
        readOverview(app.db),
        readJobReports(app.db),
      ]);
      const { router } = app.engines;
      return {
        ...overview,
        upstreams: router?.health() ?? [],
        costs: costs.map(({ micros, upstream }) => ({ upstream, cost_micros: micros })),
        currency: router?.currency ?? null,
        jobs,
      };
    },
  );
};

export default routes;
