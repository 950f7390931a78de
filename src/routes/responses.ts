/** OpenAI's Responses API. Contract section 14. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Static } from '@sinclair/typebox';
import { ref } from '../../schemas/common.ts';
import { ResponseStreamEvent } from '../../schemas/response-events.ts';
import { ResponseRequest } from '../../schemas/response-requests.ts';
import {
  CancelledResponse,
  DeletedResponse,
  ModelResponse,
  ResponseInputList,
  ResponseInputQuery,
  ResponseParams,
  ResponseQuery,
} from '../../schemas/responses.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { writeInSlices } from '../bodies/write-in-slices.ts';
import { ignoredFields } from '../domain/completion-fields.ts';
import { checkNamedSources, checkOriginalSources } from '../domain/named-sources.ts';
import { wasStopped } from '../domain/stop.ts';
import { noSuchModel, resolveModel } from '../engines/models.ts';
import { type AnswerTokens, tokensOf } from '../engines/upstream/usage.ts';
import { ApiError } from '../errors.ts';
import type { Outcome } from '../ledger/types.ts';
import type { Charging } from '../requests/charge.ts';
import { chatCost } from '../requests/cost.ts';
import { answerJson } from '../requests/json-answer.ts';
import { chatFor } from '../requests/routed.ts';
import { answerStream } from '../requests/stream-answer.ts';
import type { Owner } from '../store/conversations.ts';
import { deleteResponse, findResponse } from '../store/responses.ts';
import { type AnswerBlocks, blocksOf } from '../surfaces/answer-blocks.ts';
import { optionalEffort } from '../surfaces/optional-effort.ts';
import { originalResponse } from '../surfaces/passthrough.ts';
import { assertReadable } from '../surfaces/readable-body.ts';
import { endedResponse, type ResponseContext, requestIdOf, responseId } from '../surfaces/response-answer.ts';
import { responseWriter } from '../surfaces/response-events.ts';
import {
  completionInput,
  inputRequired,
  type ResponseBody,
  refuseUnsupported,
  responseFields,
} from '../surfaces/response-request.ts';
import { ResponseTools } from '../surfaces/response-tools.ts';
import { assertStorable, conversationOf, listedInput, noSuchResponse } from '../surfaces/stored-responses.ts';
import { surfaceScript } from '../surfaces/surface-script.ts';

const wholeOnly = () =>
  new ApiError('invalidRequest', {
    message: 'Stored responses cannot be streamed. Leave out `stream`.',
    param: 'stream',
  });

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  const engine = optionalEffort(app.engines.chat);

  const stored = async (owner: Owner, id: string) => {
    const requestId = requestIdOf(id);
    const row = requestId === undefined ? undefined : await findResponse(app.db, owner, requestId);
    if (row === undefined) throw noSuchResponse();
    return row;
  };

  app.post(
    '/responses',
    {
      bodyLimit: bodyLimits.chat,
      schema: {
        operationId: 'createResponse',
        summary: "Create a response (OpenAI's Responses API)",
        description:
          "Works with OpenAI's clients and with Codex: set their base URL to this service's `/api/v1`. Each request costs one unit of chat, or more if the operator set more for the model. Unless `store` is false, the response is kept for 30 days and can be continued with `previous_response_id`.",
        tags: ['Responses'],
        body: ref(ResponseRequest),
        response: {
          200: {
            description:
              'The response. With `stream`, its events; the `text/event-stream` schema describes one event.',
            content: {
              'application/json': { schema: ref(ModelResponse) },
              'text/event-stream': { schema: ref(ResponseStreamEvent) },
            },
          },
        },
      },
      config: {
        scope: 'chat',
        meter: 'chat',
        errors: ['notFound', 'modelNotInPlan', 'tooManyStreams'],
        errorExamples: { ForModel: noSuchModel(), ForEmptyInput: inputRequired() },
        ignoresFields: true,
        // No field is required, but an empty request has no input.
        bodyIsOptional: false,
      },
      // Sets the header on replayed responses too.
      preValidation: async ({ body }, reply) => {
        if (typeof body !== 'object' || body === null) return;
        const ignored = ignoredFields(body, responseFields);
        if (ignored !== '') reply.header('x-parley-ignored-fields', ignored);
      },
    },
    async (request, reply) => {
      const body = request.body as ResponseBody;
      const { accountId, keyId } = request.caller;
      assertReadable(body);
      refuseUnsupported(body);
      const { input, items, rootId } = await conversationOf(app.db, { accountId, keyId }, body);
      const isKept = body.store !== false;
      if (isKept) assertStorable(input);
      const tools = new ResponseTools(body.tools ?? []);
      const plan = app.config.plans.of(request.caller).id;
      const resolved = await resolveModel(engine, body.model ?? undefined, plan);
      const { id: model } = resolved;
      const original = originalResponse(body, items, tools);
      // A stored response may be continued, and its ID is the request's ID.
      const conversation = rootId ?? (isKept ? request.id : undefined);
      const chat = chatFor(engine, request, reply, body.prompt_cache_key ?? conversation, original);
      const chatInput = completionInput(body, model, items, tools);
      checkNamedSources(chatInput, app.config.imageHosts);
      checkOriginalSources(original.body(), app.config.imageHosts);
      chat.check?.(chatInput);
      await writeInSlices(chatInput.messages);

      const contextOf = (id: string): ResponseContext => ({
        ...{ id, model, body, tools },
        createdAt: Math.floor(Date.now() / 1000),
      });
      const previousId = (body.previous_response_id && requestIdOf(body.previous_response_id)) || null;
      const keep = (response: Static<typeof ModelResponse>): Partial<Outcome> =>
        isKept ? { response: { keyId, previousId, input, body: response } } : {};

      const cost = chatCost(request, resolved, chatInput, { ...body, input: items });

      if (body.stream)
        return answerStream(charging, request, reply, cost, ({ id }, signal) => {
          const context = contextOf(id);
          return surfaceScript(chat, chatInput, signal, {
            writer: () => responseWriter(context),
            stored: (blocks: AnswerBlocks, tokens: AnswerTokens) =>
              keep(endedResponse(context, blocks, tokens)),
          });
        });

      return answerJson(charging, request, reply, cost, async ({ id }, signal) => {
        const completion = await chat.complete(chatInput, signal);
        const tokens = tokensOf(completion.usage);
        const blocks = blocksOf(completion);
        blocks.isStopped = wasStopped(signal);
        const value = endedResponse(contextOf(id), blocks, tokens);
        return { value, outcome: { model, ...tokens, ...keep(value) } };
      });
    },
  );

  app.get(
    '/responses/:id',
    {
      schema: {
        operationId: 'getResponse',
        summary: 'Retrieve a response',
        description:
          'Returns a stored response. A key sees the responses that it created. Other query parameters are ignored.',
        tags: ['Responses'],
        params: ResponseParams,
        querystring: ResponseQuery,
        response: { 200: ref(ModelResponse) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound'],
        errorExamples: { ForResponse: noSuchResponse(), ForStream: wholeOnly() },
      },
    },
    async (request) => {
      if (request.query.stream) throw wholeOnly();
      return JSON.parse((await stored(request.caller, request.params.id)).body);
    },
  );

  app.delete(
    '/responses/:id',
    {
      schema: {
        operationId: 'deleteResponse',
        summary: 'Delete a response',
        description: 'Permanently deletes a stored response and its input. It can no longer be continued.',
        tags: ['Responses'],
        params: ResponseParams,
        response: { 200: ref(DeletedResponse) },
      },
      config: { scope: 'chat', errors: ['notFound'], errorExamples: { ForResponse: noSuchResponse() } },
    },
    async (request) => {
      const id = requestIdOf(request.params.id);
      if (id === undefined || !(await deleteResponse(app.db, request.caller, id))) throw noSuchResponse();
      return { id: responseId(id), object: 'response' as const, deleted: true };
    },
  );

  app.post(
    '/responses/:id/cancel',
    {
      schema: {
        operationId: 'cancelResponse',
        summary: 'Stop a response',
        description:
          'Stops a response that is being generated, on whichever replica it runs. The output generated so far becomes the response, and the request remains charged.',
        tags: ['Responses'],
        params: ResponseParams,
        response: { 200: ref(CancelledResponse) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound', 'alreadyFinished'],
        errorExamples: { ForResponse: noSuchResponse() },
      },
    },
    async (request) => {
      const id = requestIdOf(request.params.id);
      if (id === undefined || !(await charging.running.stop(request.caller, id))) throw noSuchResponse();
      const row = await findResponse(app.db, request.caller, id);
      const fields = row === undefined ? { object: 'response' } : JSON.parse(row.body);
      return { ...fields, id: responseId(id), status: 'cancelled' };
    },
  );

  app.get(
    '/responses/:id/input_items',
    {
      schema: {
        operationId: 'listResponseInput',
        summary: 'List the input of a response',
        description:
          'Lists the input items of a stored response, without those of the responses that it continues. Newest first, unless `order` is `asc`. Other query parameters are ignored.',
        tags: ['Responses'],
        params: ResponseParams,
        querystring: ResponseInputQuery,
        response: { 200: ref(ResponseInputList) },
      },
      config: { scope: 'chat', errors: ['notFound'], errorExamples: { ForResponse: noSuchResponse() } },
    },
    async (request) => {
      const { after, limit = 20, order = 'desc' } = request.query;
      const items = listedInput(await stored(request.caller, request.params.id));
      if (order === 'desc') items.reverse();
      const start = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
      if (after !== undefined && start === 0)
        throw new ApiError('notFound', { message: 'The input has no item with this ID.', param: 'after' });
      const data = items.slice(start, start + limit);
      return {
        object: 'list' as const,
        data,
        first_id: (data[0]?.id as string) ?? null,
        last_id: (data.at(-1)?.id as string) ?? null,
        has_more: start + data.length < items.length,
      };
    },
  );
};

export default routes;
