/** Rejects keys in the query string on every path, before the guards. Contract section 3. */
import fp from 'fastify-plugin';
import { holdsApiKey } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';

/** Parameter names that clients of other services use for keys. */
const keyParameters = new Set(['api_key', 'apikey', 'key', 'access_token']);

/** Rejects a key in the query string even next to a valid header, because logs and browser histories keep URLs. */
function holdsKey(query: Record<string, string | string[]>): boolean {
  return Object.entries(query).some(
    ([name, value]) =>
      keyParameters.has(name.toLowerCase()) || holdsApiKey(name) || [value].flat().some(holdsApiKey),
  );
}

export default fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      if (holdsKey(request.query as Record<string, string | string[]>)) throw new ApiError('apiKeyInQuery');
      done();
    });
  },
  { name: 'credentials', dependencies: ['errors'] },
);
