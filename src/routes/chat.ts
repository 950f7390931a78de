/** The product's own chat. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { v7 as uuidv7 } from 'uuid';
import { ChatReply, ChatRequest, finishReasons } from '../../schemas/chat.ts';
import { ref } from '../../schemas/common.ts';
import { HISTORY_MESSAGES, historyWithin, titleOf } from '../domain/conversation.ts';
import { settleModel } from '../domain/models.ts';
import type { CompletionInput } from '../engines/types.ts';
import { ApiError } from '../errors.ts';
import { clientGone } from '../plugins/client-gone.ts';
import { metered } from '../plugins/quota.ts';
import { findConversation, listMessages } from '../store/conversations.ts';

const BODY_LIMIT = 2 * 1024 * 1024;

type FinishReason = (typeof finishReasons)[number];
const finishReason = (reason: string | null | undefined): FinishReason =>
  finishReasons.find((known) => known === reason) ?? 'stop';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/chat',
    {
      bodyLimit: BODY_LIMIT,
      schema: {
        operationId: 'chat',
        summary: 'Send a message and get the reply',
        description:
          "Answers a message. Without `conversation_id` a new conversation is begun; with it, the conversation's recent history goes to the model too.",
        tags: ['Chat'],
        body: ref(ChatRequest),
        response: { 200: ref(ChatReply) },
      },
      config: { scope: 'chat', meter: 'chat', errors: ['notFound'] },
    },
    async (request, reply) => {
      const {
        conversation_id: continued,
        instructions,
        max_output_tokens: maxTokens,
        message,
        store = true,
        temperature,
      } = request.body;
      const model = await settleModel(app.engines.chat, request.body.model);
      if (
        continued !== undefined &&
        (await findConversation(app.db, request.caller, continued)) === undefined
      ) {
        throw new ApiError('notFound', {
          message: 'You have no conversation with this id.',
          param: 'conversation_id',
        });
      }
      const history =
        continued === undefined
          ? []
          : historyWithin(await listMessages(app.db, request.caller.accountId, continued, HISTORY_MESSAGES));

      const input: CompletionInput = {
        model,
        messages: [
          ...(instructions ? [{ role: 'system' as const, content: instructions }] : []),
          ...history,
          { role: 'user', content: message },
        ],
        ...(temperature !== undefined && { temperature }),
        ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
      };

      return metered(request, reply, 1, async (admission) => {
        const completion = await app.engines.chat.complete(input, clientGone(reply));
        const [choice] = completion.choices;
        if (choice === undefined)
          throw new ApiError('upstreamError', { cause: 'The completion has no choice.' });
        const text = choice.message.content ?? '';
        const { completion_tokens: outputTokens, prompt_tokens: inputTokens } = completion.usage;
        const conversationId = store ? (continued ?? uuidv7()) : null;
        return {
          value: {
            id: admission.id,
            conversation_id: conversationId,
            model: completion.model,
            reply: text,
            finish_reason: finishReason(choice.finish_reason),
            usage: { input_tokens: inputTokens, output_tokens: outputTokens },
            created_at: new Date().toISOString(),
          },
          outcome: {
            model: completion.model,
            inputTokens,
            outputTokens,
            ...(conversationId !== null && {
              turn: {
                accountId: request.caller.accountId,
                keyId: request.caller.keyId,
                conversationId,
                isNew: continued === undefined,
                title: titleOf(message),
                question: { id: uuidv7(), content: message },
                answer: { id: uuidv7(), content: text, model: completion.model },
              },
            }),
          },
        };
      });
    },
  );
};

export default routes;
