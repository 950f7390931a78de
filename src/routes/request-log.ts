/** The account's request log. Contract sections 1 and 5. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Static } from '@sinclair/typebox';
import { ref } from '../../schemas/common.ts';
import { RequestLog, RequestLogQuery } from '../../schemas/request-log.ts';
import { decodeCursor, pageOf } from '../domain/cursor.ts';
import { ApiError } from '../errors.ts';
import { type LogFilter, readRequestLog } from '../store/request-log.ts';

const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 11, 31);

/**
 * RFC 3339 holds times that Postgres does not; the log has none of them.
 *
 * @throws ApiError `invalidRequest` for a leap second
 */
function instantFrom(param: 'from' | 'to', value: string): Date {
  const time = Date.parse(value);
  if (Number.isNaN(time)) {
    throw new ApiError('invalidRequest', {
      message: `\`${param}\` is not a time that can be asked for.`,
      param,
    });
  }
  return new Date(Math.min(Math.max(time, EARLIEST_MS), LATEST_MS));
}

/** `429` or `4xx`. */
function statusesFrom(status: string): { first: number; last: number } {
  const first = Number(status.replace('xx', '00'));
  return { first, last: status.endsWith('xx') ? first + 99 : first };
}

function filterFrom(query: Static<typeof RequestLogQuery>): LogFilter {
  const { endpoint, from, id, key_id: keyId, status, to } = query;
  return {
    ...(id !== undefined && { id }),
    ...(keyId !== undefined && { keyId: keyId === 'web' ? null : keyId }),
    ...(endpoint !== undefined && { endpoint }),
    ...(status !== undefined && { statuses: statusesFrom(status) }),
    ...(from !== undefined && { from: instantFrom('from', from) }),
    ...(to !== undefined && { to: instantFrom('to', to) }),
  };
}

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/requests',
    {
      schema: {
        operationId: 'listRequests',
        summary: 'Read the request log',
        description:
          "The account's metered requests, and those that were refused (403, 429, 5xx), newest first. Requests that were refused have one row for each minute, key and code, with their number; these rows appear within a second or two and are kept on a best-effort basis, while charges are exact.",
        tags: ['Usage'],
        querystring: RequestLogQuery,
        response: { 200: ref(RequestLog) },
      },
    },
    async (request) => {
      const { cursor, limit = 50 } = request.query;
      const [day, at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['day', 'instant', 'uuid']);
      const after = day !== undefined && at !== undefined && id !== undefined ? { day, at, id } : undefined;
      const { accountId } = request.caller;
      const rows = await readRequestLog(app.db, accountId, limit + 1, filterFrom(request.query), after);
      const { nextCursor, page } = pageOf(rows, limit, (row) => [row.day, row.at, row.id]);
      return { data: page.map(({ day: _, ...row }) => row), next_cursor: nextCursor };
    },
  );
};

export default routes;
