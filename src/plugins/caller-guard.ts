/** Guards a scope by API key or session. An invalid key never falls back to the cookie. Contract sections 1 and 3. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { assertActive, assertMayList, assertScope, invalidApiKey } from '../keys/access.ts';
import type { KeyLookup } from '../keys/lookup.ts';
import { acceptSession } from '../requests/accept-session.ts';
import { keyCredential, missingCredentials } from '../requests/credentials.ts';
import { recheckAfterSlowBody } from '../requests/late-body.ts';
import { acceptOrigin } from './cors.ts';
import { restoreSession } from './sessions.ts';

export default fp<{ keyLookup: KeyLookup }>(
  async (app, { keyLookup }) => {
    app.decorateRequest('caller');
    app.addHook('onRoute', (route) => {
      if (route.config?.scope === undefined)
        throw new Error(`${route.method} ${route.url} needs config.scope.`);
      route.config = { ...route.config, access: 'caller' };
    });

    const fromSession = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const session = await restoreSession(request);
      if (session === null) throw missingCredentials(request);
      request.caller = { accountId: session.accountId, keyId: null, plan: session.plan };
      await acceptSession(request, reply);
    };

    const fromKey = async (request: FastifyRequest, reply: FastifyReply, credential: string) => {
      const stored = await keyLookup.identify(credential);
      if (stored === undefined) {
        await app.limits.countUnknownKey(request);
        throw invalidApiKey();
      }
      const { accountId, keyId, plan } = stored;
      request.caller = { accountId, keyId, plan };
      try {
        acceptOrigin(request, reply, stored);
        assertActive(stored);
      } catch (error) {
        // Do not count it: foreign pages and holders of revoked keys must not use up the account's limit.
        await app.limits.showRequests(request, reply);
        throw error;
      }
      await app.limits.countRequest(request, reply);
      const { isListing, scope } = request.routeOptions.config;
      assertScope(stored, scope);
      if (isListing) assertMayList(stored);
      keyLookup.noteUse(stored);
    };

    app.addHook('onRequest', async (request, reply) => {
      const credential = keyCredential(request);
      if (credential === undefined) await fromSession(request, reply);
      else await fromKey(request, reply, credential);
    });

    recheckAfterSlowBody(app, async (request, reply) => {
      const credential = keyCredential(request);
      if (credential === undefined) {
        if ((await restoreSession(request)) === null) throw missingCredentials(request);
        return;
      }
      const stored = await keyLookup.identify(credential);
      if (stored === undefined) throw invalidApiKey();
      acceptOrigin(request, reply, stored);
      assertActive(stored);
    });
  },
  { name: 'caller-guard', dependencies: ['services', 'rate-limit'] },
);
