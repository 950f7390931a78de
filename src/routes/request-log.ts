/** The account's request log. Contract sections 1 and 5. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Static } from '@sinclair/typebox';
import { ref } from '../../schemas/common.ts';
import { RequestLog, RequestLogQuery } from '../../schemas/request-log.ts';
import { decodeCursor, encodeCursor, pageOf } from '../domain/cursor.ts';
import { ApiError } from '../errors.ts';
import {
  type LogFilter,
  type LoggedRequestRow,
  type LogPosition,
  readRequestLog,
} from '../store/request-log.ts';

const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 11, 31);
/** How many lookups a page makes if few rows match its filter. */
const LOOKS_AT_MOST = 10;

/** Clamps times that Postgres cannot store: the log has none. Throws ApiError `invalidRequest` for a leap second. */
function instantFrom(param: 'from' | 'to', value: string): Date {
  const time = Date.parse(value);
  if (Number.isNaN(time)) {
    throw new ApiError('invalidRequest', {
      message: `\`${param}\` is outside the supported time range.`,
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
          "Lists the account's metered requests and its refused requests (403, 429, 5xx), newest first. Charges are exact. Refused requests have one row per minute, key, and code, with a count; these rows appear within a second or two and are best-effort. If few rows match the filters, a page can have fewer rows than `limit`, or none. The last page is the one whose `next_cursor` is null.",
        tags: ['Usage'],
        querystring: RequestLogQuery,
        response: { 200: ref(RequestLog) },
      },
    },
    async (request) => {
      const { cursor, limit = 50 } = request.query;
      const [day, at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['day', 'instant', 'uuid']);
      let after = day !== undefined && at !== undefined && id !== undefined ? { day, at, id } : undefined;
      const filter = filterFrom(request.query);
      const found: LoggedRequestRow[] = [];
      let end: LogPosition | null = null;
      for (let looks = 0; looks < LOOKS_AT_MOST && found.length <= limit; looks += 1) {
        const seen = await readRequestLog(
          app.db,
          request.caller.accountId,
          limit + 1 - found.length,
          filter,
          after,
        );
        found.push(...seen.rows);
        end = seen.end;
        if (end === null) break;
        after = end;
      }
      const { nextCursor, page } = pageOf(found, limit, (row) => [row.day, row.at, row.id]);
      return {
        data: page.map(({ day: _, ...row }) => row),
        next_cursor: nextCursor ?? (end && encodeCursor([end.day, end.at, end.id])),
      };
    },
  );
};

export default routes;
