/** OpenAI-compatible list of models. Contract sections 1 and 8. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Model, ModelList, ModelParams } from '../../schemas/models.ts';
import { findModel } from '../domain/models.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { chat } = app.engines;

  app.get(
    '/models',
    {
      schema: {
        operationId: 'listModels',
        summary: 'List models',
        description: 'Lists the models available for chat, default first.',
        tags: ['Models'],
        response: { 200: ref(ModelList) },
      },
      config: { scope: 'models' },
    },
    async () => ({ object: 'list' as const, data: await chat.models() }),
  );

  app.get(
    '/models/:id',
    {
      schema: {
        operationId: 'getModel',
        summary: 'Retrieve a model',
        description:
          'Returns a model by its ID. You can send the slash in an ID such as `org/name` as is or percent-encoded.',
        tags: ['Models'],
        params: ModelParams,
        response: { 200: ref(Model) },
      },
      config: { scope: 'models', errors: ['notFound'] },
    },
    async (request) => findModel(chat, request.params.id),
  );

  // A parameter ends at a slash, so ids with an unencoded slash arrive here. The route above documents both.
  app.get<{ Params: { '*': string } }>(
    '/models/*',
    { schema: { hide: true }, config: { scope: 'models' } },
    async (request) => findModel(chat, request.params['*']),
  );
};

export default routes;
