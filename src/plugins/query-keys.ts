/** A key in the query string is refused, even beside a valid header: logs and histories keep URLs. Contract section 3. */
import fp from 'fastify-plugin';
import { holdsApiKey } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';

/** Names by which clients of other services send keys. */
const keyParameters = new Set(['api_key', 'apikey', 'key', 'access_token']);

export default fp(
  async (app) => {
    app.addHook('onRequest', async (request) => {
      for (const [name, value] of Object.entries(request.query as Record<string, string | string[]>)) {
        if (keyParameters.has(name.toLowerCase()) || [value].flat().some(holdsApiKey) || holdsApiKey(name)) {
          throw new ApiError('apiKeyInQuery');
        }
      }
    });
  },
  { name: 'query-keys', dependencies: ['errors'] },
);
