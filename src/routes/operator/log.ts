/** The operators' log. Contract section 17. */
import { Readable } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../../schemas/common.ts';
import { OperatorLog, OperatorLogFile, OperatorLogQuery } from '../../../schemas/operator-log.ts';
import { decodeCursor, pageOf } from '../../domain/cursor.ts';
import { operatorLogLines, toLogEntry } from '../../request-log/operator-log.ts';
import { listOperatorLog } from '../../store/operator-log.ts';

const DAY_LENGTH = 'YYYY-MM-DD'.length;

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/operator/log',
    {
      schema: {
        operationId: 'listOperatorLog',
        summary: 'Read the operator log',
        description:
          'Lists the changes that operators made through the API and on the command line, newest first. Entries are kept for a year.',
        tags: ['Operator'],
        querystring: OperatorLogQuery,
        response: { 200: ref(OperatorLog) },
      },
    },
    async (request) => {
      const { cursor, limit = 50 } = request.query;
      const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['instant', 'uuid']);
      const after = at !== undefined && id !== undefined ? { at, id } : undefined;
      const rows = await listOperatorLog(app.db, limit + 1, after);
      const { nextCursor, page } = pageOf(rows, limit, (row) => [row.at.toISOString(), row.id]);
      return { data: page.map(toLogEntry), next_cursor: nextCursor };
    },
  );

  app.get(
    '/operator/log/export',
    {
      schema: {
        operationId: 'exportOperatorLog',
        summary: 'Export the operator log',
        description: 'All entries, newest first, as a file with a JSON object per line.',
        tags: ['Operator'],
        response: {
          200: {
            description: 'The file.',
            content: { 'application/jsonl': { schema: ref(OperatorLogFile) } },
          },
        },
      },
      config: { isFile: true },
    },
    async (_request, reply) => {
      const today = new Date().toISOString().slice(0, DAY_LENGTH);
      reply.header('content-disposition', `attachment; filename="parley-operator-log-${today}.jsonl"`);
      reply.type('application/jsonl');
      // Fastify's types only allow values that the schema describes.
      return reply.send(Readable.from(operatorLogLines(app.db), { objectMode: false }) as never);
    },
  );
};

export default routes;
