/** OpenAI-compatible chat completions. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { CompletionStreamEvent } from '../../schemas/completion-chunks.ts';
import { Completion, CompletionRequest } from '../../schemas/completions.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { CompletionFields } from '../domain/completion-fields.ts';
import { checkNamedSources } from '../domain/named-sources.ts';
import { noSuchModel, resolveModel } from '../engines/models.ts';
import { tokensOf } from '../engines/upstream/usage.ts';
import type { Charging } from '../requests/charge.ts';
import { completionScript } from '../requests/completion-script.ts';
import { chatCost } from '../requests/cost.ts';
import { answerJson } from '../requests/json-answer.ts';
import { chatFor } from '../requests/routed.ts';
import { answerStream } from '../requests/stream-answer.ts';

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  const { chatFields } = app.config;
  let ofUpstreams: readonly string[] = [];
  let fields = new CompletionFields(chatFields);
  /** A reload of the upstreams can change the fields. */
  const currentFields = (): CompletionFields => {
    const { fields: added = ofUpstreams } = app.engines.router ?? {};
    if (added !== ofUpstreams) fields = new CompletionFields([...chatFields, ...added]);
    ofUpstreams = added;
    return fields;
  };

  app.post(
    '/chat/completions',
    {
      bodyLimit: bodyLimits.chat,
      schema: {
        operationId: 'createChatCompletion',
        summary: 'Create a chat completion (OpenAI-compatible)',
        description:
          "Works with OpenAI's clients: set their base URL to this service's `/api/v1`. Each of the `n` choices is charged.",
        tags: ['Chat'],
        body: ref(CompletionRequest),
        response: {
          200: {
            description:
              'The completion. With `stream`, its chunks; the `text/event-stream` schema describes one event.',
            content: {
              'application/json': { schema: ref(Completion) },
              'text/event-stream': { schema: ref(CompletionStreamEvent) },
            },
          },
        },
      },
      config: {
        scope: 'chat',
        meter: 'chat',
        errors: ['notFound', 'modelNotInPlan', 'tooManyStreams'],
        errorExamples: { ForModel: noSuchModel() },
        ignoresFields: true,
        passesBodyOn: true,
      },
      // Sets the header on replayed responses too.
      preValidation: async ({ body }, reply) => {
        if (typeof body !== 'object' || body === null) return;
        const known = currentFields();
        known.check(body);
        const ignored = known.ignored(body);
        if (ignored !== '') reply.header('x-parley-ignored-fields', ignored);
      },
    },
    async (request, reply) => {
      const body = currentFields().passed(request.body);
      checkNamedSources(body, app.config.imageHosts);
      const plan = app.config.plans.of(request.caller).id;
      const model = await resolveModel(app.engines.chat, body.model, plan);
      const input = { ...body, model: model.id };
      const chat = chatFor(
        app.engines.chat,
        request,
        reply,
        'prompt_cache_key' in body && body.prompt_cache_key,
      );
      chat.check?.(input);
      const cost = chatCost(request, model, input);

      if (input.stream)
        return answerStream(charging, request, reply, cost, ({ retry }, signal) =>
          completionScript(chat, input, signal, retry !== undefined),
        );

      return answerJson(charging, request, reply, cost, async (_admission, signal) => {
        const completion = await chat.complete(input, signal);
        return { value: completion, outcome: { model: completion.model, ...tokensOf(completion.usage) } };
      });
    },
  );
};

export default routes;
