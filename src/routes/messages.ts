/** Anthropic's Messages API. Contract section 14. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { AnsweredMessage, MessagesTokenCount } from '../../schemas/messages.ts';
import { MessagesStreamEvent } from '../../schemas/messages-events.ts';
import { MessagesCountRequest, MessagesQuery, MessagesRequest } from '../../schemas/messages-requests.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { writeInSlices } from '../bodies/write-in-slices.ts';
import { ignoredFields } from '../domain/completion-fields.ts';
import { checkNamedSources, checkOriginalSources } from '../domain/named-sources.ts';
import { noSuchModel, resolveModel } from '../engines/models.ts';
import { isObject } from '../engines/upstream/json.ts';
import { estimatedUsage, tokensOf } from '../engines/upstream/usage.ts';
import type { Charging } from '../requests/charge.ts';
import { chatCost } from '../requests/cost.ts';
import { answerJson } from '../requests/json-answer.ts';
import { chatFor } from '../requests/routed.ts';
import { answerStream } from '../requests/stream-answer.ts';
import { blocksOf } from '../surfaces/answer-blocks.ts';
import { wholeMessage } from '../surfaces/messages-answer.ts';
import { messagesWriter } from '../surfaces/messages-events.ts';
import { refuseFiles, writeToolInputs } from '../surfaces/messages-input.ts';
import { conversationInput, dropNulls, messagesFields, messagesInput } from '../surfaces/messages-request.ts';
import { optionalEffort } from '../surfaces/optional-effort.ts';
import { originalMessages } from '../surfaces/passthrough.ts';
import { assertReadable } from '../surfaces/readable-body.ts';
import { surfaceScript } from '../surfaces/surface-script.ts';
import { traceOf, traceWork } from '../telemetry/tracing.ts';

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  const engine = optionalEffort(app.engines.chat);

  app.post(
    '/messages',
    {
      bodyLimit: bodyLimits.chat,
      schema: {
        operationId: 'createMessage',
        summary: "Create a message (Anthropic's Messages API)",
        description:
          "Works with Anthropic's clients and with Claude Code: set their base URL to this service's `/api`. Each request costs one unit of chat, or more if the operator set more for the model.",
        tags: ['Messages'],
        querystring: MessagesQuery,
        body: ref(MessagesRequest),
        response: {
          200: {
            description:
              'The message. With `stream`, its events; the `text/event-stream` schema describes one event.',
            content: {
              'application/json': { schema: ref(AnsweredMessage) },
              'text/event-stream': { schema: ref(MessagesStreamEvent) },
            },
          },
        },
      },
      config: {
        scope: 'chat',
        meter: 'chat',
        surface: 'anthropic',
        errors: ['notFound', 'modelNotInPlan', 'tooManyStreams'],
        errorExamples: { ForModel: noSuchModel() },
        ignoresFields: true,
      },
      // Sets the header on replayed responses too.
      preValidation: async ({ body }, reply) => {
        if (!isObject(body)) return;
        dropNulls(body);
        const ignored = ignoredFields(body, messagesFields);
        if (ignored !== '') reply.header('x-parley-ignored-fields', ignored);
      },
    },
    async (request, reply) => {
      const { body } = request;
      assertReadable(body);
      const plan = app.config.plans.of(request.caller).id;
      const resolved = await resolveModel(engine, body.model, plan);
      const { id: model } = resolved;
      const original = originalMessages(body, request.headers['anthropic-beta']);
      const chat = chatFor(engine, request, reply, body.metadata?.user_id, original);
      if (engine.kind === 'builtin') refuseFiles(body.messages);
      await writeToolInputs(body.messages);
      const input = messagesInput(body, model);
      checkNamedSources(input, app.config.imageHosts);
      checkOriginalSources(original.body(), app.config.imageHosts);
      chat.check?.(input);
      for (const value of Object.values(input))
        if (typeof value === 'object' && value !== null) await writeInSlices(value);
      const contextOf = (id: string) => ({ id, model, stopSequences: body.stop_sequences ?? [] });

      const cost = chatCost(request, resolved, input, body);

      if (body.stream)
        return answerStream(charging, request, reply, cost, ({ id }, signal) => {
          const estimated = estimatedUsage(input, 0).prompt_tokens;
          return surfaceScript(chat, input, signal, {
            writer: () => messagesWriter(contextOf(id), estimated),
          });
        });

      return answerJson(charging, request, reply, cost, async ({ id }, signal) => {
        const completion = await chat.complete(input, signal);
        const tokens = tokensOf(completion.usage);
        const value = wholeMessage(contextOf(id), blocksOf(completion, true), tokens);
        return { value, outcome: { model, ...tokens } };
      });
    },
  );

  app.post(
    '/messages/count_tokens',
    {
      bodyLimit: bodyLimits.chat,
      schema: {
        operationId: 'countMessageTokens',
        summary: 'Count the tokens of a message',
        description:
          "Counts the input tokens of a conversation, if the model's server can count them. Otherwise, estimates them: one for every four characters of its text, tool calls, and tools; images do not count. Not charged.",
        tags: ['Messages'],
        querystring: MessagesQuery,
        body: ref(MessagesCountRequest),
        response: { 200: ref(MessagesTokenCount) },
      },
      config: {
        scope: 'chat',
        surface: 'anthropic',
        errors: ['notFound', 'modelNotInPlan'],
        errorExamples: { ForModel: noSuchModel() },
      },
      preValidation: async ({ body }) => {
        if (isObject(body)) dropNulls(body);
      },
    },
    async (request, reply) => {
      const { body, caller } = request;
      assertReadable(body);
      const plan = app.config.plans.of(caller).id;
      const { id: model } = await resolveModel(engine, body.model, plan);
      if (engine.kind === 'builtin') refuseFiles(body.messages);
      await writeToolInputs(body.messages);
      const input = conversationInput(body, model);
      const original = originalMessages(body, request.headers['anthropic-beta']);
      checkNamedSources(input, app.config.imageHosts);
      checkOriginalSources(original.body(), app.config.imageHosts);
      const chat = chatFor(engine, request, reply, undefined, original);
      const left = new AbortController();
      traceWork(left.signal, request.span?.trace ?? traceOf(request.headers, request.id));
      reply.raw.once('close', () => left.abort());
      const counted = await chat.countTokens?.(input, left.signal);
      return { input_tokens: counted ?? estimatedUsage(input, 0).prompt_tokens };
    },
  );
};

export default routes;
