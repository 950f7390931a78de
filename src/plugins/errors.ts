/** Every error in the one envelope, and the answers for what is not there. Contract section 6. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { NO_CONNECTION_LEFT, noConnectionLeft, sqlState } from '../database/client.ts';
import { sendDashboard, wantsNotFoundPage } from '../docs/dashboard-page.ts';
import { errorPage, wantsErrorPage } from '../docs/error-answer.ts';
import { sendPage } from '../docs/layout.ts';
import { withoutApiKeys } from '../domain/api-key.ts';
import { ApiError, errorEnvelope } from '../errors.ts';
import { rateHeaderNames } from '../rate-headers.ts';
import { toApiError } from '../requests/errors.ts';

/** Requests fail by the hundred where Postgres is full: what to do about it is said once in this time. */
const HINT_MS = 60_000;

export default fp(
  async (app) => {
    const { databaseConnections, publicUrl } = app.config;

    let hintedAt = Number.NEGATIVE_INFINITY;
    const hintAt = (cause: unknown) => {
      if (sqlState(cause) !== NO_CONNECTION_LEFT || performance.now() - hintedAt < HINT_MS) return;
      hintedAt = performance.now();
      app.log.error(noConnectionLeft(databaseConnections));
    };

    const note = (error: ApiError, request: FastifyRequest) => {
      if (error.statusCode < 500) return;
      request.log.error({ code: error.code, err: error.options.cause ?? error }, error.message);
      hintAt(error.options.cause);
    };

    const answer = (error: ApiError, request: FastifyRequest, reply: FastifyReply) => {
      note(error, request);
      // A 429 that does not pass by waiting: clients must not take it for a limit that does.
      if (error.code === 'apiKeyLimitReached') for (const name of rateHeaderNames) reply.removeHeader(name);
      // What was left out of a request that failed explains nothing.
      reply.removeHeader('x-parley-ignored-fields');
      return (
        reply
          .code(error.statusCode)
          .headers(error.headers)
          .type('application/json; charset=utf-8')
          // Messages name what is wrong, and clients send keys where they do not belong.
          .serializer((envelope) => withoutApiKeys(JSON.stringify(envelope)))
          .send(errorEnvelope(error, request.id, publicUrl))
      );
    };

    app.setErrorHandler<FastifyError | ApiError>((thrown, request, reply) => {
      const error = toApiError(thrown);
      if (!wantsErrorPage(request)) return answer(error, request, reply);
      note(error, request);
      return sendPage(
        reply.code(error.statusCode).headers(error.headers),
        errorPage(error, withoutApiKeys(error.message)),
      );
    });
    // What leads nowhere is a public page as well.
    app.setNotFoundHandler(async (request, reply) => {
      await app.limits.countPage(request);
      if (wantsNotFoundPage(request)) return sendDashboard(reply.code(404));
      return answer(new ApiError('notFound'), request, reply);
    });
  },
  { name: 'errors', dependencies: ['services'] },
);
