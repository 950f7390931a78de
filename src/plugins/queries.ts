/** Query parameters that an operation does not know are refused. Contract section 6. */
import { Type } from '@sinclair/typebox';
import fp from 'fastify-plugin';

const none = Type.Object({}, { additionalProperties: false });

export default fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const { config, schema, url } = route;
      const isOfApi = url.startsWith('/api/v1/') && schema !== undefined && !schema.hide;
      if (isOfApi && !config?.isMethodFallback && schema.querystring === undefined) schema.querystring = none;
    });
  },
  { name: 'queries' },
);
