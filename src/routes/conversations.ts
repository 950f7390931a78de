/** Stored conversations. A key sees those that it created; the dashboard sees all. Contract sections 1 and 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../schemas/common.ts';
import {
  Conversation,
  ConversationDetails,
  ConversationList,
  ConversationListQuery,
  ConversationParams,
  ConversationQuery,
  MessageImageList,
  MessageImagesQuery,
  UpdateConversation,
} from '../../schemas/conversations.ts';
import { searchConversations } from '../conversations/search.ts';
import { cursorParts, decodeCursor, encodeCursor, pageOf } from '../domain/cursor.ts';
import { ApiError } from '../errors.ts';
import * as store from '../store/conversations.ts';

const noSuchConversation = () =>
  new ApiError('notFound', { message: 'You do not have a conversation with this ID.' });

const toSummary = (row: store.Conversation) => ({
  id: row.id,
  title: row.title,
  pinned: row.isPinned,
  key_id: row.keyId,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
});

const toDetails = (row: store.Conversation) => ({
  ...toSummary(row),
  instructions: row.instructions,
  temperature: row.temperature,
});

/** Also accepts two-part cursors of versions without pinned conversations. */
function positionFrom(cursor: string): store.ListPosition {
  if (cursorParts(cursor) === 2) {
    const [at, id] = decodeCursor(cursor, ['instant', 'uuid']);
    return { isPinned: false, at: new Date(at), id };
  }
  const [pinned, at, id] = decodeCursor(cursor, ['flag', 'instant', 'uuid']);
  return { isPinned: pinned === '1', at: new Date(at), id };
}

const partsOf = ({ at, id, isPinned }: store.ListPosition) => [isPinned ? '1' : '0', at.toISOString(), id];

const toMessage = (row: store.Message) => ({
  id: row.id,
  role: row.role,
  content: row.content,
  ...(row.images !== null && { images: row.images }),
  model: row.model,
  ...(row.isStopped && { stopped: true }),
  ...(row.finishReason !== null && { finish_reason: row.finishReason }),
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
          'Pinned conversations first, then the most recently updated. With `q`, only those that contain its words; if few match, a page can have fewer conversations than `limit`, or none, and the last page is the one whose `next_cursor` is null. A key lists the conversations that it created. A key with allowed origins is public and cannot list conversations (403 `listingNotAllowed`), but can read a conversation by its ID. The dashboard lists all conversations of the account.',
        tags: ['Conversations'],
        querystring: ConversationListQuery,
        response: { 200: ref(ConversationList) },
      },
      config: { scope: 'chat', isListing: true, errors: ['listingNotAllowed'] },
    },
    async (request) => {
      const { cursor, limit = 20, q, source } = request.query;
      const after = cursor === undefined ? undefined : positionFrom(cursor);
      if (q !== undefined) {
        const { end, found } = await searchConversations(app.db, request.caller, q, limit, after, source);
        const data = found.map(({ snippet, ...row }) => ({
          ...toSummary(row),
          ...(snippet !== undefined && { snippet }),
        }));
        return { data, next_cursor: end && encodeCursor(partsOf(end)) };
      }
      const rows = await store.listConversations(app.db, request.caller, limit + 1, after, source);
      const { nextCursor, page } = pageOf(rows, limit, ({ id, isPinned, updatedAt: at }) =>
        partsOf({ id, isPinned, at }),
      );
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
        ...toDetails(conversation),
        messages: page.reverse().map(toMessage),
        next_cursor: nextCursor,
      };
    },
  );

  app.get(
    '/conversations/:id/images',
    {
      schema: {
        operationId: 'listMessageImages',
        summary: 'Read the images of a message',
        description:
          'Returns the images that were sent with a message of the conversation, as `data:` URLs. Messages without images have an empty list.',
        tags: ['Conversations'],
        params: ConversationParams,
        querystring: MessageImagesQuery,
        response: { 200: ref(MessageImageList) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound'],
        errorExamples: { ForConversation: noSuchConversation() },
      },
    },
    async (request) => {
      const { caller, params, query } = request;
      if ((await store.findConversation(app.db, caller, params.id)) === undefined) throw noSuchConversation();
      return { data: await store.readImages(app.db, caller.accountId, params.id, query.message_id) };
    },
  );

  app.patch(
    '/conversations/:id',
    {
      schema: {
        operationId: 'updateConversation',
        summary: 'Change a conversation',
        description:
          'Renames or pins the conversation, or sets the instructions and temperature to use if a request has none. Only the fields in the body change; null removes a setting.',
        tags: ['Conversations'],
        params: ConversationParams,
        body: ref(UpdateConversation),
        response: { 200: ref(ConversationDetails) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound'],
        errorExamples: { ForConversation: noSuchConversation() },
      },
    },
    async (request) => {
      const { pinned, title, ...settings } = request.body;
      const row = await store.changeConversation(app.db, request.caller, request.params.id, {
        ...settings,
        ...(title !== undefined && { title: title.trim() }),
        ...(pinned !== undefined && { isPinned: pinned }),
      });
      if (row === undefined) throw noSuchConversation();
      return toDetails(row);
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
