/**
 * Guards a scope for callers: a Bearer key with the route's scope, or the dashboard session. A Bearer credential
 * decides alone; an invalid one never falls back to the cookie. Contract sections 1 and 3.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { verifyApiKey } from '../domain/verify-key.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from './caller.ts';
import { assertSameSite } from './csrf.ts';
import { restoreSession } from './sessions.ts';

/** The credential of an `Authorization` header, or undefined where there is none. */
function bearerCredential(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) return undefined;
  // Node keeps the first of several and drops the rest.
  const headers = request.raw.rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization',
  );
  if (headers.length > 1)
    throw new ApiError('invalidRequest', { message: 'Send one `Authorization` header, not several.' });
  const [, credential] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (credential === undefined) {
    throw new ApiError('invalidApiKey', {
      message: 'The `Authorization` header is not of the form `Bearer <API_KEY>`.',
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  }
  return credential;
}

export default fp(
  async (app) => {
    app.decorateRequest('caller');
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'caller' };
    });

    const fromSession = async (request: FastifyRequest): Promise<Caller> => {
      const session = await restoreSession(request);
      if (session === null)
        throw new ApiError('missingCredentials', { headers: { 'www-authenticate': 'Bearer' } });
      // Known also where the request is refused now: its refusal is counted.
      request.caller = { accountId: session.accountId, keyId: null };
      assertSameSite(request);
      return request.caller;
    };

    app.addHook('onRequest', async (request) => {
      const credential = bearerCredential(request);
      const { scope } = request.routeOptions.config;
      request.caller =
        credential === undefined ? await fromSession(request) : await verifyApiKey(app.db, credential, scope);
    });
  },
  { name: 'caller-guard', dependencies: ['settings'] },
);
