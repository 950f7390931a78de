/** Search. Contract sections 1 and 8. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { SearchRequest, SearchResponse } from '../../schemas/search.ts';
import type { Charging } from '../requests/charge.ts';
import { answerJson } from '../requests/json-answer.ts';

/** Documented in `SearchRequest`. */
const DEFAULT_LIMIT = 10;

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  app.post(
    '/search',
    {
      schema: {
        operationId: 'search',
        summary: 'Search',
        description:
          'Finds pages that match keywords or a question, best match first. Returns an empty list if nothing matches.',
        tags: ['Search'],
        body: ref(SearchRequest),
        response: { 200: ref(SearchResponse) },
      },
      config: { scope: 'search', meter: 'search' },
    },
    async (request, reply) => {
      const { limit = DEFAULT_LIMIT, query } = request.body;
      return answerJson(charging, request, reply, { units: 1 }, async (_admission, signal) => ({
        value: { query, results: await app.engines.search.search(query, limit, signal) },
        outcome: { model: null, inputTokens: 0, outputTokens: 0 },
      }));
    },
  );
};

export default routes;
