/** Every error in the one envelope, and the answers for what is not there. Contract section 6. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isUnavailable, NO_CONNECTION_LEFT, noConnectionLeft, sqlState } from '../database/client.ts';
import { errorPage, wantsErrorPage } from '../docs/error-answer.ts';
import { sendPage } from '../docs/layout.ts';
import { withoutApiKeys } from '../domain/api-key.ts';
import { rateHeaderNames } from '../domain/rate-headers.ts';
import { ApiError, errorEnvelope } from '../errors.ts';
import { sendDashboard, wantsNotFoundPage } from '../routes/dashboard-page.ts';
import { validationDetails } from '../validation.ts';

/** What Fastify itself refuses, by its error code. */
const fastifyErrors: Record<string, () => ApiError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ApiError('unsupportedMediaType'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError('payloadTooLarge'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () =>
    new ApiError('invalidRequest', { message: 'The request body is empty; send a JSON object.' }),
  FST_ERR_CTP_INVALID_JSON_BODY: () =>
    new ApiError('invalidRequest', { message: 'The request body is not valid JSON.' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ApiError('invalidRequest', { message: 'The body is not as long as `Content-Length` says.' }),
};

function fromValidation(error: FastifyError): ApiError {
  const details = validationDetails(error.validation ?? []);
  const [first] = details;
  const part = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'request');
  const where =
    first && first.path !== '/' ? `\`${first.path.replace(/^\//, '').replaceAll('/', '.')}\`` : `the ${part}`;
  return new ApiError('invalidRequest', {
    message: first
      ? `In the ${part}, ${where === `the ${part}` ? 'it' : where} ${first.message}.`
      : 'The request is not valid.',
    ...(first && first.path !== '/' ? { param: first.path.replace(/^\//, '').replaceAll('/', '.') } : {}),
    details,
  });
}

/** Turns whatever was thrown into an error of the table; what is unknown becomes `internalError`. */
export function toApiError(error: FastifyError | ApiError): ApiError {
  if (error instanceof ApiError) return error;
  if (error.validation) return fromValidation(error);
  const known = fastifyErrors[error.code];
  if (known) return known();
  if (isUnavailable(error))
    return new ApiError('serviceUnavailable', { headers: { 'retry-after': '1' }, cause: error });
  if (error.statusCode === 400) return new ApiError('invalidRequest', { cause: error });
  return new ApiError('internalError', { cause: error });
}

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
          .headers(error.options.headers ?? {})
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
      return sendPage(reply.code(error.statusCode).headers(error.options.headers ?? {}), errorPage(error));
    });
    // What leads nowhere is a public page as well.
    app.setNotFoundHandler(async (request, reply) => {
      await app.limits.countPage(request);
      if (wantsNotFoundPage(request)) return sendDashboard(reply.code(404));
      return answer(new ApiError('notFound'), request, reply);
    });
  },
  { name: 'errors', dependencies: ['settings'] },
);
