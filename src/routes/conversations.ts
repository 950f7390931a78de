/** Stored conversations. A key sees only its own, the dashboard all of the account's. Contract sections 1 and 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../schemas/common.ts';
import {
  Conversation,
  ConversationList,
  ConversationListQuery,
  ConversationParams,
  ConversationQuery,
} from '../../schemas/conversations.ts';
import { decodeCursor, pageOf } from '../domain/cursor.ts';
import { ApiError } from '../errors.ts';
import * as store from '../store/conversations.ts';

const noSuchConversation = () =>
  new ApiError('notFound', { message: 'You do not have a conversation with this ID.' });

const toSummary = (row: store.Conversation) => ({
  id: row.id,
  title: row.title,
  key_id: row.keyId,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
});

const toMessage = (row: store.Message) => ({
  id: row.id,
  role: row.role,
  content: row.content,
  model: row.model,
  ...(row.isStopped && { stopped: true }),
  created_at: row.createdAt.toISOString(),
});

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/conversations',
    {
      schema: {
        operationId: 'listConversations',
        summary: 'List conversations',
        description:
          'Most recently updated first. A key lists the conversations that it created. A key with allowed origins is public and cannot list conversations (403 `listingNotAllowed`), but can read a conversation by its ID. The dashboard lists all conversations of the account.',
        tags: ['Conversations'],
        querystring: ConversationListQuery,
        response: { 200: ref(ConversationList) },
      },
      config: { scope: 'chat', isListing: true, errors: ['listingNotAllowed'] },
    },
    async (request) => {
      const { cursor, limit = 20 } = request.query;
      const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['instant', 'uuid']);
      const after = at !== undefined && id !== undefined ? { at: new Date(at), id } : undefined;
      const rows = await store.listConversations(app.db, request.caller, limit + 1, after);
      const { nextCursor, page } = pageOf(rows, limit, (row) => [row.updatedAt.toISOString(), row.id]);
      return { data: page.map(toSummary), next_cursor: nextCursor };
    },
  );

  app.get(
    '/conversations/:id',
    {
      schema: {
        operationId: 'getConversation',
        summary: 'Read a conversation',
        description:
          'Returns the conversation with a page of its newest messages, in chronological order. Send `next_cursor` as `cursor` to get older messages. A page of long messages can have fewer messages than `limit`.',
        tags: ['Conversations'],
        params: ConversationParams,
        querystring: ConversationQuery,
        response: { 200: ref(Conversation) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound'],
        errorExamples: { ForConversation: noSuchConversation() },
      },
    },
    async (request) => {
      const { cursor, limit = 200 } = request.query;
      const conversation = await store.findConversation(app.db, request.caller, request.params.id);
      if (conversation === undefined) throw noSuchConversation();
      const [before] = cursor === undefined ? [] : decodeCursor(cursor, ['uuid']);
      const rows = await store.listMessages(
        app.db,
        request.caller.accountId,
        conversation.id,
        limit + 1,
        before,
      );
      const count = rows.filter(({ fits }) => fits).length;
      const { nextCursor, page } = pageOf(rows, Math.min(limit, count), (row) => [row.id]);
      return {
        ...toSummary(conversation),
        messages: page.reverse().map(toMessage),
        next_cursor: nextCursor,
      };
    },
  );

  app.delete(
    '/conversations/:id',
    {
      schema: {
        operationId: 'deleteConversation',
        summary: 'Delete a conversation',
        description: 'Permanently deletes the conversation and all its messages.',
        tags: ['Conversations'],
        params: ConversationParams,
        response: { 204: NoContent },
      },
      config: {
        scope: 'chat',
        errors: ['notFound'],
        errorExamples: { ForConversation: noSuchConversation() },
      },
    },
    async (request, reply) => {
      if (!(await store.deleteConversation(app.db, request.caller, request.params.id)))
        throw noSuchConversation();
      return reply.code(204).send(null);
    },
  );
};

export default routes;
