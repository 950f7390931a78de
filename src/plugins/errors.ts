/** Sends every error in the format of the client's API, and handles unknown paths. Contract sections 6 and 14. */

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { hasAttempts } from '../../schemas/errors.ts';
import { NO_CONNECTION_LEFT, noConnectionLeft, sqlState } from '../database/client.ts';
import { sendDashboard, wantsNotFoundPage } from '../docs/dashboard-page.ts';
import { errorPage, wantsErrorPage } from '../docs/error-answer.ts';
import { sendPage } from '../docs/layout.ts';
import { withoutApiKeys } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';
import { rateHeaderNames } from '../rate-headers.ts';
import { envelopeFor } from '../requests/envelope.ts';
import { toApiError } from '../requests/errors.ts';
import { type KnownPaths, methodNotAllowed } from './methods.ts';

/** Without free connections to Postgres, requests fail by the hundred. This advice is logged once per interval. */
const HINT_MS = 60_000;

export default fp<{ paths: KnownPaths }>(
  async (app, { paths }) => {
    const { databaseConnections } = app.config;

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
      // Waiting does not help with this 429, so clients must not mistake it for a rate limit.
      if (error.code === 'apiKeyLimitReached') for (const name of rateHeaderNames) reply.removeHeader(name);
      reply.removeHeader('x-parley-ignored-fields');
      if (!hasAttempts(error.code)) reply.removeHeader('x-parley-attempts');
      return (
        reply
          .code(error.statusCode)
          .headers(error.headers)
          .type('application/json; charset=utf-8')
          // Messages quote input, and clients may send keys in the wrong place.
          .serializer((envelope) => withoutApiKeys(JSON.stringify(envelope)))
          .send(envelopeFor(request, error))
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
    app.setNotFoundHandler(async (request, reply) => {
      // Missing files match a route too.
      const isRouted = app.supportedMethods.includes(request.method);
      const route = isRouted ? undefined : paths.match(request.url.split('?', 1)[0] as string);
      if (route !== undefined) return answer(methodNotAllowed(paths, route), request, reply);
      await app.limits.countPage(request);
      if (wantsNotFoundPage(request)) return sendDashboard(reply.code(404));
      return answer(new ApiError('notFound'), request, reply);
    });
  },
  { name: 'errors', dependencies: ['services'] },
);
