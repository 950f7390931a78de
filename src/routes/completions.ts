/** OpenAI-compatible chat completions. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { CompletionStreamEvent } from '../../schemas/completion-chunks.ts';
import { Completion, CompletionRequest } from '../../schemas/completions.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { CompletionFields } from '../domain/completion-fields.ts';
import { completionScript } from '../domain/completion-script.ts';
import { noSuchModel, resolveModel } from '../domain/models.ts';
import { checkNamedUrls } from '../domain/named-urls.ts';
import { answerJson } from '../requests/json-answer.ts';
import { answerStream } from '../requests/stream-answer.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const fields = new CompletionFields(app.config.chatFields);

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
        errors: ['notFound', 'tooManyStreams'],
        errorExamples: { ForModel: noSuchModel() },
        ignoresFields: true,
        passesBodyOn: true,
      },
      // Also before a replayed response.
      preValidation: async ({ body }, reply) => {
        if (typeof body !== 'object' || body === null) return;
        fields.check(body);
        const ignored = fields.ignored(body);
        if (ignored !== '') reply.header('x-parley-ignored-fields', ignored);
      },
    },
    async (request, reply) => {
      const { chat } = app.engines;
      const body = fields.passed(request.body);
      checkNamedUrls(body, app.config.imageHosts);
      const input = { ...body, model: (await resolveModel(chat, body.model)).id };
      chat.check?.(input);
      const units = input.n ?? 1;

      if (input.stream)
        return answerStream(request, reply, units, ({ retry }) =>
          completionScript(chat, input, retry !== undefined),
        );

      return answerJson(request, reply, units, async (_admission, signal) => {
        const completion = await chat.complete(input, signal);
        const { completion_tokens: outputTokens, prompt_tokens: inputTokens } = completion.usage;
        return { value: completion, outcome: { model: completion.model, inputTokens, outputTokens } };
      });
    },
  );
};

export default routes;
