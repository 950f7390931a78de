/** The list of models, in OpenAI's and Anthropic's formats. Contract sections 1, 8, and 14. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ref } from '../../schemas/common.ts';
import { AnthropicModelQuery, Model, ModelList, ModelParams } from '../../schemas/models.ts';
import { findListedModel, listedModels, noSuchModel, taskOf } from '../engines/models.ts';
import { isOfAnthropic } from '../requests/anthropic.ts';
import { anthropicModel, anthropicModelPage } from '../surfaces/anthropic-models.ts';

const noQuery = Type.Object({}, { additionalProperties: false });
/** The `preValidation` hook checks the query. */
const anyQuery = Type.Object({}, { additionalProperties: true });

/** Each API has its own query parameters. */
async function checkQuery(request: FastifyRequest): Promise<void> {
  const schema = isOfAnthropic(request) ? AnthropicModelQuery : noQuery;
  const validate = request.compileValidationSchema(schema, 'querystring');
  if (validate(request.query)) return;
  throw Object.assign(new Error('The query is not valid.'), {
    validation: validate.errors,
    validationContext: 'querystring',
  });
}

/** Anthropic's format depends on a header, so the routes' documented schemas do not include it. */
const sendAnthropic = (reply: FastifyReply, value: object) =>
  reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(value);

const anthropicShape =
  'With an `anthropic-version` header, the request and response, errors included, have the format of the Anthropic API ([Anthropic-compatible endpoint](/docs/guides/anthropic-compatible#list-models-with-an-anthropic-client)).';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { chat } = app.engines;
  const planOf = ({ caller }: FastifyRequest) => app.config.plans.of(caller).id;

  app.get(
    '/models',
    {
      schema: {
        operationId: 'listModels',
        summary: 'List models',
        description: `Lists the models that the account's plan includes: chat models first, starting with the default. ${anthropicShape}`,
        tags: ['Models'],
        querystring: anyQuery,
        response: { 200: ref(ModelList) },
      },
      config: { scope: 'models' },
      preValidation: checkQuery,
    },
    async (request, reply) => {
      const data = await listedModels(chat, planOf(request));
      if (!isOfAnthropic(request)) return { object: 'list' as const, data };
      // Anthropic has no models for other tasks, so its clients expect only chat models.
      const forChat = data.filter((model) => taskOf(model) === 'chat');
      const query = request.query as Static<typeof AnthropicModelQuery>;
      return sendAnthropic(reply, anthropicModelPage(forChat, query));
    },
  );

  const getModel = async (request: FastifyRequest, reply: FastifyReply, id: string) => {
    const model = await findListedModel(chat, id, planOf(request));
    return isOfAnthropic(request) ? sendAnthropic(reply, anthropicModel(model)) : model;
  };

  app.get(
    '/models/:id',
    {
      schema: {
        operationId: 'getModel',
        summary: 'Retrieve a model',
        description: `Returns a model by its ID, or by an alias that the operator has set. You can send the slash in an ID such as \`org/name\` as is or percent-encoded. ${anthropicShape}`,
        tags: ['Models'],
        params: ModelParams,
        response: { 200: ref(Model) },
      },
      config: { scope: 'models', errors: ['notFound'], errorExamples: { ForModel: noSuchModel() } },
    },
    async (request, reply) => getModel(request, reply as FastifyReply, request.params.id),
  );

  // A path parameter ends at a slash, so IDs with an unencoded slash arrive here. The route above documents both.
  app.get<{ Params: { '*': string } }>(
    '/models/*',
    { schema: { hide: true, querystring: noQuery }, config: { scope: 'models' } },
    async (request, reply) => getModel(request, reply as FastifyReply, request.params['*']),
  );
};

export default routes;
