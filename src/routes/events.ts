/** The account's audit trail. Contract section 1. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { AccountEventList, AccountEventListQuery } from '../../schemas/events.ts';
import { decodeCursor, pageOf } from '../domain/cursor.ts';
import { type AccountEventRow, listEvents } from '../store/events.ts';

const toEvent = (row: AccountEventRow) => ({
  id: row.id,
  at: row.at.toISOString(),
  type: row.type,
  address: row.address,
  user_agent: row.userAgent,
  key_id: row.keyId,
  detail: row.detail,
});

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/events',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'Read the audit trail',
        description:
          'Lists changes to the account and its sessions, keys, and plan, newest first, with time and network address but never a secret. Events are kept for a year. Failed sign-ins are recorded at most once a minute.',
        tags: ['Account'],
        querystring: AccountEventListQuery,
        response: { 200: ref(AccountEventList) },
      },
    },
    async (request) => {
      const { cursor, limit = 50 } = request.query;
      const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['instant', 'uuid']);
      const after = at !== undefined && id !== undefined ? { at, id } : undefined;
      const rows = await listEvents(app.db, request.caller.accountId, limit + 1, after);
      const { nextCursor, page } = pageOf(rows, limit, (row) => [row.at.toISOString(), row.id]);
      return { data: page.map(toEvent), next_cursor: nextCursor };
    },
  );
};

export default routes;
