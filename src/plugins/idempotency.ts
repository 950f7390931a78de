/**
 * Metered requests that may be made again: `Idempotency-Key` is taken in, and what was answered before is answered
 * again before anything is looked up, charged or counted as a stream. Contract section 10.
 */
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type Retry, retryOf } from '../domain/idempotency.ts';
import type { Replay } from '../domain/ledger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where the request came with an idempotency key. */
    retry: Retry | null;
  }
}

const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]*$',
      description:
        'Makes it safe to send the request again: within 24 hours the same key and body get the first answer, charged once. 1 to 255 visible ASCII characters; use a random UUID for each new piece of work.',
      examples: ['5e3f3a52-7c0b-4b1c-9a55-0d6a1f8c7f11'],
    }),
  ),
});

/** An answer as the route would send it. */
export function serialised(reply: FastifyReply, value: unknown): string {
  const serialise =
    reply.getSerializationFunction('200', 'application/json') ?? reply.getSerializationFunction('200');
  return serialise === undefined ? JSON.stringify(value) : serialise(value as Record<string, unknown>);
}

/** Answers what was answered before: JSON as JSON, a stream as a stream. */
export function replayTo(request: FastifyRequest, reply: FastifyReply, { answer }: Replay): FastifyReply {
  const isStream = answer.status === 200 && (request.body as { stream?: unknown } | null)?.stream === true;
  // Errors do not say what was ignored.
  if (answer.status !== 200) reply.removeHeader('x-parley-ignored-fields');
  return reply
    .code(answer.status)
    .headers({
      'idempotency-replayed': 'true',
      'content-type': isStream ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8',
      ...(isStream && { 'x-accel-buffering': 'no' }),
    })
    .send(answer.body);
}

export default fp(
  async (app) => {
    app.decorateRequest('retry', null);
    app.addHook('onRoute', (route) => {
      if (route.config?.meter !== undefined) route.schema = { ...route.schema, headers };
    });

    app.addHook('preHandler', async (request, reply) => {
      const { caller, headers: sent, method, routeOptions } = request;
      const key = sent['idempotency-key'];
      if (typeof key !== 'string' || routeOptions.config.meter === undefined) return;
      request.retry = retryOf(key, `${method} ${routeOptions.url}`, request.body);
      const replay = await app.ledger.findReplay(caller, request.retry);
      if (replay !== undefined) return replayTo(request, reply, replay);
    });
  },
  { name: 'idempotency', dependencies: ['settings', 'caller-guard'] },
);
