/** Receives and parses JSON bodies. Contract section 6, reliability tests 15, 41 to 44, 48, 57, and 58. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { BodyBudget, type Budget, workerBytes } from '../bodies/budget.ts';
import { BodyError } from '../bodies/parse.ts';
import { BodyParser, BusyError } from '../bodies/parser.ts';
import { announcedLength, BodyReader, ReadError, type Refusal } from '../bodies/reader.ts';
import { payloadTooLarge } from '../bodies/too-large.ts';
import type { Config } from '../config.ts';
import { ApiError } from '../errors.ts';
import { addressKey } from '../limits/address.ts';
import type { Membership } from '../workers/membership.ts';
import { shareOf } from '../workers/settings.ts';
import { SharedBudget } from '../workers/shared-budget.ts';
import { askForBody } from './client-errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether Parley sends the body to an upstream as the client sent it. */
    passesBodyOn?: true;
    /** How much of a large body the worker may transfer to the event loop, if not the default: see `lighten`. */
    bodyCost?: number;
    /** Derived from the body schema, unless the route sets it. */
    bodyIsOptional?: boolean;
  }
}

const refusals: Record<Refusal, (limit: number) => ApiError> = {
  tooLarge: payloadTooLarge,
  noMemory: () =>
    new ApiError('overloaded', {
      message:
        'The service is receiving too many large request bodies. Nothing was charged. Send fewer at a time, or try again shortly.',
    }),
  tooSlow: () =>
    new ApiError('invalidRequest', {
      message:
        'The request body arrived too slowly: it must average at least 64 KiB per second. Try again on a faster connection, or send less.',
    }),
  tinyChunks: () =>
    new ApiError('invalidRequest', {
      message:
        'The request body arrived in chunks of a few bytes each. Send chunks of at least 64 bytes on average, or the body with `Content-Length`.',
    }),
  brokenOff: () =>
    new ApiError('invalidRequest', { message: 'The request body is incomplete. Send the request again.' }),
  wrongLength: () =>
    new ApiError('invalidRequest', { message: 'The length of the body does not match `Content-Length`.' }),
};

function toApiError(error: unknown, limit: number): unknown {
  if (error instanceof ReadError) return refusals[error.refusal](limit);
  if (error instanceof BodyError) return new ApiError('invalidRequest', { message: error.message });
  if (error instanceof BusyError) return new ApiError('overloaded', { cause: error.cause });
  return error;
}

const isCompared = ({ headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.meter !== undefined && headers['idempotency-key'] !== undefined;

/** A body counts against the account's budget, or against the address's if no account is known. */
const senderOf = (request: FastifyRequest): string => request.caller?.accountId ?? addressKey(request.ip);

function mayBeLeftOut(app: FastifyInstance, body: unknown): boolean {
  const { $ref } = (body ?? {}) as { $ref?: string };
  const schema = ($ref === undefined ? body : app.getSchema($ref.replace(/#$/, ''))) as
    | { required?: readonly string[]; minProperties?: number }
    | undefined;
  return schema !== undefined && !schema.required?.length && !schema.minProperties;
}

function budgetOf({ bodyMemoryBytes }: Config, membership: Membership | undefined): Budget {
  if (membership === undefined) return new BodyBudget(bodyMemoryBytes);
  return new SharedBudget(membership.primary, shareOf(workerBytes(bodyMemoryBytes), membership.workers));
}

export default fp<{ membership: Membership | undefined }>(
  async (app, { membership }) => {
    const reader = new BodyReader(budgetOf(app.config, membership));
    const parser = new BodyParser();

    app.addHook('onRoute', (route) => {
      if (route.schema?.body === undefined || !mayBeLeftOut(app, route.schema.body)) return;
      route.config = { bodyIsOptional: true, ...route.config };
    });
    app.addHook('preValidation', (request, _reply, done) => {
      if (request.body === undefined && request.routeOptions.config.bodyIsOptional) request.body = {};
      done();
    });
    app.addHook('onClose', async () => {
      reader.close();
      await parser.close();
    });

    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', async (request: FastifyRequest) => {
      const { bodyLimit, config, schema } = request.routeOptions;
      // Respond without waiting for a body that nothing reads.
      if (request.is404) return undefined;
      const { 'content-encoding': encoding = '' } = request.headers;
      if (!/^(identity)?$/i.test(encoding.trim()))
        throw new ApiError('unsupportedMediaType', {
          message: 'Request bodies must not be compressed. Send the body without `Content-Encoding`.',
        });
      try {
        if ((announcedLength(request.raw) ?? 0) <= bodyLimit) askForBody(request.raw);
        const { body, release } = await reader.read(request.raw, {
          limit: bodyLimit,
          sender: senderOf(request),
        });
        try {
          if (body.length > 0)
            return await parser.parse(
              body,
              config.passesBodyOn === true,
              isCompared(request),
              config.bodyCost,
            );
        } finally {
          release();
        }
      } catch (error) {
        throw toApiError(error, bodyLimit);
      }
      if (schema?.body === undefined || config.bodyIsOptional) return undefined;
      throw new ApiError('invalidRequest', { message: 'The request body is empty. Send a JSON object.' });
    });
  },
  { name: 'bodies', dependencies: ['errors', 'services'] },
);
