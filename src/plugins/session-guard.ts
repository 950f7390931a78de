/** Guards a scope by session. It rejects a Bearer key even next to a valid cookie. Contract sections 3 and 9. */
import fp from 'fastify-plugin';
import { bodyLimits } from '../bodies/limits.ts';
import { ApiError } from '../errors.ts';
import type { KeyLookup } from '../keys/lookup.ts';
import { acceptSession } from '../requests/accept-session.ts';
import { hasBearer } from '../requests/credentials.ts';
import { recheckAfterSlowBody } from '../requests/late-body.ts';
import { restoreSession } from './sessions.ts';

export default fp<{ keyLookup: KeyLookup }>(
  async (app, { keyLookup }) => {
    app.decorateRequest('caller');
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'session' };
      route.bodyLimit ??= bodyLimits.account;
    });

    app.addHook('onRequest', async (request, reply) => {
      if (hasBearer(request)) throw new ApiError('bearerNotAccepted');
      const { accountId, plan } = request.session;
      if (accountId === undefined || plan === undefined) throw new ApiError('sessionRequired');
      request.caller = { accountId, keyId: null, plan };
      await acceptSession(request, reply);
    });

    recheckAfterSlowBody(app, async (request) => {
      const session = await restoreSession(request);
      if (session?.accountId !== request.caller.accountId) throw new ApiError('sessionRequired');
    });

    // A change made with a session takes effect in this process at once. A notification tells the other replicas.
    app.addHook('onSend', ({ caller, method }, _reply, _payload, done) => {
      if (method !== 'GET' && caller !== undefined) keyLookup.forget(caller.accountId);
      done();
    });
  },
  { name: 'session-guard', dependencies: ['services', 'sessions', 'rate-limit'] },
);
