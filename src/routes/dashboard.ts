/** The dashboard: one page for each of its addresses, and the files that this page loads. Contract section 1. */
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { pagePaths } from '../dashboard/paths.ts';
import { builtDashboard, isDashboardBuilt, sendDashboard } from '../pages/dashboard.ts';

const YEAR_SECONDS = 31_536_000;

const routes: FastifyPluginAsyncTypebox = async (app) => {
  for (const path of pagePaths)
    app.get(path, { schema: { hide: true } }, async (_request, reply) => sendDashboard(reply));

  if (!isDashboardBuilt) return;
  app.register(async (assets) => {
    // Each is there in three encodings; a cache in between must not mix them up.
    assets.addHook('onRequest', async (_request, reply) => {
      reply.header('vary', 'Accept-Encoding');
    });
    // The names change with the content.
    assets.register(staticFiles, {
      root: fileURLToPath(new URL('assets/', builtDashboard)),
      prefix: '/assets/',
      decorateReply: false,
      index: false,
      preCompressed: true,
      immutable: true,
      maxAge: YEAR_SECONDS * 1000,
    });
  });
};

export default routes;
