/**
 * Guards a scope for the signed-in dashboard: the session cookie and nothing else. A Bearer key is refused even
 * beside a valid cookie. Contract sections 3 and 9.
 */
import fp from 'fastify-plugin';
import { ApiError } from '../errors.ts';
import type {} from './caller.ts';
import { assertSameSite } from './csrf.ts';

export default fp(
  async (app) => {
    app.decorateRequest('caller');
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'session' };
    });

    app.addHook('onRequest', async (request) => {
      if (request.headers.authorization !== undefined) throw new ApiError('bearerNotAccepted');
      const { accountId } = request.session;
      if (accountId === undefined) throw new ApiError('sessionRequired');
      request.caller = { accountId, keyId: null };
      assertSameSite(request);
    });
  },
  { name: 'session-guard', dependencies: ['settings', 'sessions'] },
);
