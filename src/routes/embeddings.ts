/** OpenAI-compatible embeddings. Contract section 14. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Static } from '@sinclair/typebox';
import { ref } from '../../schemas/common.ts';
import { EmbeddingList, EmbeddingRequest, MAX_INPUTS, MAX_TOKENS } from '../../schemas/embeddings.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { SealedJson } from '../bodies/sealed.ts';
import { countTokens, inputsOf, unknownModel } from '../engines/embedding-input.ts';
import type { EmbeddingInput } from '../engines/types.ts';
import { ApiError } from '../errors.ts';
import type { Charging } from '../requests/charge.ts';
import { embeddingCost } from '../requests/cost.ts';
import { embeddingListJson } from '../requests/embedding-list.ts';
import { answerBytes } from '../requests/json-answer.ts';
import { routedCall, routedModel } from '../requests/routed.ts';

/** OpenAI accepts null for most fields, but some servers do not. */
const withoutNulls = (body: Static<typeof EmbeddingRequest>) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as EmbeddingInput;

const tooManyTokens = () =>
  new ApiError('invalidRequest', {
    message: `A request can have at most ${MAX_INPUTS.toLocaleString('en')} inputs and ${MAX_TOKENS.toLocaleString('en')} tokens. Split it into several requests.`,
    param: 'input',
  });

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  app.post(
    '/embeddings',
    {
      bodyLimit: bodyLimits.embeddings,
      schema: {
        operationId: 'createEmbeddings',
        summary: 'Create embeddings (OpenAI-compatible)',
        description:
          'Returns a vector for each input. Similar texts have similar vectors. Each input is charged.',
        tags: ['Embeddings'],
        body: ref(EmbeddingRequest),
        response: { 200: ref(EmbeddingList) },
      },
      preValidation: async ({ body }) => {
        const { input } = (body ?? {}) as { input?: unknown };
        // Otherwise validation would only report that the input has none of the allowed types.
        if (input instanceof SealedJson) throw tooManyTokens();
        if (Array.isArray(input) && typeof input[0] === 'number' && input.length > MAX_TOKENS)
          throw tooManyTokens();
      },
      config: {
        scope: 'search',
        meter: 'embeddings',
        errors: ['notFound', 'modelNotInPlan'],
        errorExamples: { ForEmbeddingModel: unknownModel(['parley-builtin-embeddings']) },
        bodyCost: MAX_TOKENS + 10_000,
      },
    },
    async (request, reply) => {
      const input = withoutNulls(request.body);
      if (countTokens(input.input) > MAX_TOKENS) throw tooManyTokens();
      const { id, units = 1 } = (await routedModel(request, 'embeddings', input.model)) ?? {};
      const engineInput = { ...input, ...(id !== undefined && { model: id }) };
      const model = app.engines.embeddings.check(engineInput) ?? null;
      const count = inputsOf(input.input).length;
      const cost = embeddingCost(request, input, count * units, model);
      return answerBytes(charging, request, reply, cost, async (_admission, signal) => {
        const call = routedCall(request, reply);
        const embedded = await app.engines.embeddings.embed(engineInput, signal, call);
        const { isEstimated = false, promptTokens } = embedded;
        return {
          json: await embeddingListJson(embedded),
          outcome: {
            ...{ model: embedded.model, inputTokens: promptTokens, outputTokens: 0 },
            ...(isEstimated && { unreported: {} }),
          },
        };
      });
    },
  );
};

export default routes;
