/** The account's request log. Contract sections 1 and 5. */
import { Readable } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import {
  RequestCsv,
  RequestExport,
  RequestExportQuery,
  RequestLog,
  RequestLogQuery,
} from '../../schemas/request-log.ts';
import { decodeCursor, encodeCursor, pageOf } from '../domain/cursor.ts';
import { logAsCsv, logAsJson } from '../domain/log-export.ts';
import { filterFrom } from '../domain/log-filter.ts';
import { ApiError } from '../errors.ts';
import {
  type LogFilter,
  type LoggedRequestRow,
  type LogPosition,
  readRequestLog,
} from '../store/request-log.ts';
import { listKeyLabels } from '../store/usage-history.ts';

/** How many lookups a page makes if few rows match its filter. */
const LOOKS_AT_MOST = 10;

const DAY_LENGTH = 'YYYY-MM-DD'.length;

/** `parley-requests-from-2026-11-01-to-2026-11-20.csv`, with the first and the last day. */
function fileName(format: string, { from, to = new Date() }: LogFilter): string {
  const day = (time: number) => new Date(time).toISOString().slice(0, DAY_LENGTH);
  const first = from === undefined ? '' : `from-${day(from.getTime())}-`;
  return `parley-requests-${first}to-${day(Math.max(to.getTime() - 1, 0))}.${format}`;
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

  /** Accounts whose export is under way in this process. */
  const exporting = new Set<string>();

  app.get(
    '/requests/export',
    {
      schema: {
        operationId: 'exportRequests',
        summary: 'Export the request log',
        description:
          'Everything in the request log that matches the filters, newest first, as a file: CSV with a header row, or JSON. An account can have one export at a time.',
        tags: ['Usage'],
        querystring: RequestExportQuery,
        response: {
          200: {
            description: 'The file.',
            content: {
              'application/json': { schema: ref(RequestExport) },
              'text/csv': { schema: ref(RequestCsv) },
            },
          },
        },
      },
      config: { errors: ['tooManyCalls'], isFile: true },
    },
    async (request, reply) => {
      const { accountId } = request.caller;
      const { format = 'json' } = request.query;
      const filter = filterFrom(request.query);
      if (exporting.has(accountId))
        throw new ApiError('tooManyCalls', {
          message: 'This account is already exporting its request log. Wait for that export to end.',
        });
      exporting.add(accountId);
      reply.raw.once('close', () => exporting.delete(accountId));
      const keys = format === 'csv' ? await listKeyLabels(app.db, accountId, app.config.requestLogDays) : [];
      const names = new Map(keys.map(({ id, name }) => [id, name]));
      const file =
        format === 'csv' ? logAsCsv(app.db, accountId, filter, names) : logAsJson(app.db, accountId, filter);
      reply.header('content-disposition', `attachment; filename="${fileName(format, filter)}"`);
      reply.type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8');
      // Fastify's types know only the values that the schema describes.
      return reply.send(Readable.from(file, { objectMode: false }) as never);
    },
  );
};

export default routes;
