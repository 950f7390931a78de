/** The dashboard's page and its files. Contract section 1. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { pagePaths } from '../dashboard/paths.ts';
import { builtDashboard, isDashboardBuilt } from '../docs/built-dashboard.ts';
import { sendDashboard } from '../docs/dashboard-page.ts';
import builtFiles from '../plugins/built-files.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  for (const path of pagePaths)
    app.get(path, { schema: { hide: true } }, async (_request, reply) => sendDashboard(reply));

  if (isDashboardBuilt)
    app.register(builtFiles, { root: new URL('assets/', builtDashboard), prefix: '/assets/' });
};

export default routes;
