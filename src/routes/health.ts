/** Liveness and readiness. Contract sections 1 and 11. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { sql } from 'drizzle-orm';
import { ref } from '../../schemas/common.ts';
import { Health } from '../../schemas/service.ts';
import type { Database } from '../database/client.ts';
import { ApiError } from '../errors.ts';
import type { Drain } from '../requests/drain.ts';
import type { Membership } from '../workers/membership.ts';

const DATABASE_TIMEOUT_MS = 1000;

const notReady = (cause: unknown) => new ApiError('serviceUnavailable', { cause });

type Options = { database: Database; drain: Drain; membership: Membership | undefined };

const routes: FastifyPluginAsyncTypebox<Options> = async (app, { database, drain, membership }) => {
  async function askDatabase(): Promise<void> {
    const answered = new AbortController();
    const late = delay(DATABASE_TIMEOUT_MS, undefined, { signal: answered.signal, ref: false }).then(
      () => {
        throw new Error(`The database did not respond within ${DATABASE_TIMEOUT_MS} ms.`);
      },
      () => {},
    );
    await Promise.race([app.db.execute(sql`select 1`), late]).finally(() => answered.abort());
  }

  // Runs one query at a time, so that queries do not pile up if the database hangs.
  let asking: Promise<void> | undefined;
  const databaseAnswers = async () => {
    // A query would wait behind other statements, so under load no replica would be ready.
    if (performance.now() - database.answeredAt() < DATABASE_TIMEOUT_MS) return;
    asking ??= askDatabase().finally(() => {
      asking = undefined;
    });
    await asking;
  };

  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Check liveness',
        description:
          'Responds while the process is running, even if the database is unavailable. Restart the process when it stops responding.',
        tags: ['Service'],
        response: { 200: ref(Health) },
      },
    },
    async () => ({ status: 'ok' as const }),
  );

  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Check readiness',
        description:
          'Returns 200 while the database responds and the process is not shutting down. Send traffic only then.',
        tags: ['Service'],
        response: { 200: ref(Health) },
      },
      config: { errors: ['serviceUnavailable'] },
    },
    async () => {
      drain.notePoll();
      membership?.primary.notify('notePoll');
      if (drain.isUnderWay) throw notReady('The process is shutting down.');
      await databaseAnswers().catch((error) => {
        throw notReady(error);
      });
      return { status: 'ok' as const };
    },
  );
};

export default routes;
