/** Public information about this installation. Contract section 1. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Service } from '../../schemas/service.ts';
import { engineInfo } from '../engines/index.ts';
import { version } from '../project.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { billing, operatorContact, signups } = app.config;

  app.get(
    '/service',
    {
      schema: {
        operationId: 'getService',
        summary: 'Retrieve service information',
        description:
          'Returns what a sign-up page needs: the version, whether sign-ups are open, who changes plans, and the engines in use.',
        tags: ['Service'],
        response: { 200: ref(Service) },
      },
      config: { errors: ['rateLimitExceeded'] },
    },
    async () => ({
      version,
      signups,
      billing,
      operator_contact: operatorContact,
      engine: await engineInfo(app.engines),
    }),
  );
};

export default routes;
