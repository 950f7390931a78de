/** Parley's own chat API. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ChatReply, ChatRequest } from '../../schemas/chat.ts';
import { ChatStreamEvent } from '../../schemas/chat-events.ts';
import { ref } from '../../schemas/common.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { writeInSlices } from '../bodies/write-in-slices.ts';
import { fromFirstQuestion, historyBudget, noHistory } from '../conversations/history-budget.ts';
import {
  assertTakesImages,
  checkImages,
  IMAGE_CHARACTERS,
  MAX_EARLIER_IMAGES,
  takesImages,
} from '../conversations/images.ts';
import { chatScript, chatTurn, replyTo, storedTurn, withSettings } from '../conversations/turn.ts';
import { wasStopped } from '../domain/stop.ts';
import { noSuchModel, resolveModel } from '../engines/models.ts';
import { tokensOf } from '../engines/upstream/usage.ts';
import { ApiError } from '../errors.ts';
import type { Charging } from '../requests/charge.ts';
import { chatCost } from '../requests/cost.ts';
import { answerJson } from '../requests/json-answer.ts';
import { chatFor } from '../requests/routed.ts';
import { answerStream } from '../requests/stream-answer.ts';
import { type History, type HistoryBudget, readHistory } from '../store/conversation-history.ts';
import {
  type Conversation,
  findConversation,
  findQuestion,
  type MessagePosition,
  type Owner,
} from '../store/conversations.ts';

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  async function continued(owner: Owner, id: string | undefined): Promise<Conversation | undefined> {
    if (id === undefined) return undefined;
    const conversation = await findConversation(app.db, owner, id);
    if (conversation === undefined)
      throw new ApiError('notFound', {
        message: 'You do not have a conversation with this ID.',
        param: 'conversation_id',
      });
    return conversation;
  }

  /** Finds the message that the new one replaces. */
  async function replaced(
    conversation: Conversation | undefined,
    id: string | undefined,
  ): Promise<MessagePosition | undefined> {
    if (id === undefined) return undefined;
    if (conversation === undefined)
      throw new ApiError('invalidRequest', {
        message: '`replaces` requires the `conversation_id` of the message.',
        param: 'replaces',
      });
    const place = await findQuestion(app.db, conversation.accountId, conversation.id, id);
    if (place === undefined)
      throw new ApiError('notFound', {
        message: 'The conversation has no user message with this ID.',
        param: 'replaces',
      });
    return place;
  }

  async function historyOf({ accountId, id }: Conversation, budget: HistoryBudget): Promise<History> {
    return fromFirstQuestion(await readHistory(app.db, accountId, id, budget));
  }

  app.post(
    '/chat',
    {
      bodyLimit: bodyLimits.chat,
      schema: {
        operationId: 'chat',
        summary: 'Send a message and get the reply',
        description:
          'Sends a message and returns the reply. Without `conversation_id`, starts a new conversation. With it, the model also gets as much of the recent history as fits; `history` reports how much. `replaces` replaces an earlier message. `images` attaches images, which stay part of the conversation. With `stream`, the reply arrives as it is generated.',
        tags: ['Chat'],
        body: ref(ChatRequest),
        response: {
          200: {
            description:
              'The reply. With `stream`, its events; the `text/event-stream` schema describes one event.',
            content: {
              'application/json': { schema: ref(ChatReply) },
              'text/event-stream': { schema: ref(ChatStreamEvent) },
            },
          },
        },
      },
      config: {
        scope: 'chat',
        meter: 'chat',
        errors: ['notFound', 'modelNotInPlan', 'tooManyStreams'],
        errorExamples: { ForModel: noSuchModel() },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const plan = app.config.plans.of(caller).id;
      const resolved = await resolveModel(app.engines.chat, request.body.model, plan);
      const { contextTokens, id: model } = resolved;
      const { images = [] } = request.body;
      if (images.length > 0) assertTakesImages(resolved);
      const kinds = checkImages(images, request.body.store !== false);
      const conversation = await continued(caller, request.body.conversation_id);
      const before = await replaced(conversation, request.body.replaces);
      const body = withSettings(request.body, conversation);
      const sentBytes =
        Buffer.byteLength(body.message) +
        Buffer.byteLength(body.instructions ?? '') +
        images.length * IMAGE_CHARACTERS;
      const budget = {
        before,
        ...historyBudget(app.config.chatHistoryCharacters, contextTokens, sentBytes, body.max_output_tokens),
        imageCharacters: IMAGE_CHARACTERS,
        ...(takesImages(resolved) && { imageBytes: MAX_EARLIER_IMAGES }),
      };
      const history = conversation === undefined ? noHistory : await historyOf(conversation, budget);
      const { accountId, keyId } = caller;
      const turn = chatTurn({ accountId, keyId }, body, model, history, kinds);
      await writeInSlices(turn.input.messages);
      const chat = chatFor(app.engines.chat, request, reply, turn.conversationId);

      const cost = chatCost(request, resolved, turn.input);

      if (body.stream)
        return answerStream(charging, request, reply, cost, ({ id }, signal) =>
          chatScript(chat, turn, id, signal),
        );

      return answerJson(charging, request, reply, cost, async ({ id }, signal) => {
        const completion = await chat.complete(turn.input, signal);
        const [choice] = completion.choices;
        if (choice === undefined)
          throw new ApiError('upstreamError', { cause: 'The completion has no choices.' });
        const text = choice.message.content ?? '';
        const tokens = tokensOf(completion.usage);
        const finishReason = choice.finish_reason;
        const isStopped = wasStopped(signal);
        return {
          value: replyTo(turn, { id, text, finishReason, isStopped, ...tokens }),
          outcome: {
            model,
            ...tokens,
            ...storedTurn(turn, { text, finishReason, isStopped, isWhole: !isStopped }),
          },
        };
      });
    },
  );
};

export default routes;
