/** Chat completions for OpenAI's clients. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { Completion, CompletionRequest } from '../../schemas/completions.ts';
import { settleModel } from '../domain/models.ts';
import { clientGone } from '../plugins/client-gone.ts';
import { metered } from '../plugins/quota.ts';

const BODY_LIMIT = 20 * 1024 * 1024;

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/chat/completions',
    {
      bodyLimit: BODY_LIMIT,
      schema: {
        operationId: 'createChatCompletion',
        summary: "OpenAI's chat completions",
        description:
          "Takes and answers what OpenAI's clients send and expect: set their base URL to this service's `/api/v1`. Each of the `n` choices is charged.",
        tags: ['Chat'],
        body: ref(CompletionRequest),
        response: { 200: ref(Completion) },
      },
      config: { scope: 'chat', meter: 'chat', errors: ['notFound'] },
    },
    async (request, reply) => {
      const model = await settleModel(app.engines.chat, request.body.model);
      return metered(request, reply, request.body.n ?? 1, async () => {
        const completion = await app.engines.chat.complete({ ...request.body, model }, clientGone(reply));
        const { completion_tokens: outputTokens, prompt_tokens: inputTokens } = completion.usage;
        return { value: completion, outcome: { model: completion.model, inputTokens, outputTokens } };
      });
    },
  );
};

export default routes;
