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
import type { Slots } from '../concurrency/slots.ts';
import { ApiError } from '../errors.ts';
import { logAsCsv, logAsJson } from '../request-log/export.ts';
import { filterFrom } from '../request-log/filter.ts';
import { readLogPage } from '../request-log/page.ts';
import type { LogFilter } from '../store/request-log.ts';
import { listKeyLabels } from '../store/usage-history.ts';

const DAY_LENGTH = 'YYYY-MM-DD'.length;

/** Such as `parley-requests-from-2026-11-01-to-2026-11-20.csv`, with the first and last day. */
function fileName(format: string, { from, to = new Date() }: LogFilter): string {
  const day = (time: number) => new Date(time).toISOString().slice(0, DAY_LENGTH);
  const first = from === undefined ? '' : `from-${day(from.getTime())}-`;
  return `parley-requests-${first}to-${day(Math.max(to.getTime() - 1, 0))}.${format}`;
}

const routes: FastifyPluginAsyncTypebox<{ slots: Slots }> = async (app, { slots }) => {
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
    (request) => readLogPage(app.db, request.caller.accountId, request.query),
  );

  app.get(
    '/requests/export',
    {
      schema: {
        operationId: 'exportRequests',
        summary: 'Export the request log',
        description:
          'Returns all rows that match the filters, newest first, as a file: CSV with a header row, or JSON. An account can have one export at a time.',
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
      const oneAtATime = { name: `export:${accountId}`, slots: 1, waiting: 0 };
      const release = await slots.take(oneAtATime).catch(() => {
        throw new ApiError('tooManyCalls', {
          message: 'This account is already exporting its request log. Wait for that export to finish.',
        });
      });
      if (reply.raw.destroyed) release();
      else reply.raw.once('close', release);
      const keys = format === 'csv' ? await listKeyLabels(app.db, accountId, app.config.requestLogDays) : [];
      const names = new Map(keys.map(({ id, name }) => [id, name]));
      const file =
        format === 'csv' ? logAsCsv(app.db, accountId, filter, names) : logAsJson(app.db, accountId, filter);
      reply.header('content-disposition', `attachment; filename="${fileName(format, filter)}"`);
      reply.type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8');
      // Fastify's types only allow values that the schema describes.
      return reply.send(Readable.from(file, { objectMode: false }) as never);
    },
  );
};

export default routes;
