import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Replay } from '../ledger/types.ts';

/** Serializes a value with the route's schema for status 200. */
export function serialized(reply: FastifyReply, value: unknown): string {
  const serialize =
    reply.getSerializationFunction('200', 'application/json') ?? reply.getSerializationFunction('200');
  return serialize === undefined ? JSON.stringify(value) : serialize(value as Record<string, unknown>);
}

/** Sends the stored response of an earlier request, as JSON or as a stream. Contract section 10. */
export function replayTo(request: FastifyRequest, reply: FastifyReply, { answer }: Replay): FastifyReply {
  const isStream = answer.status === 200 && (request.body as { stream?: unknown } | null)?.stream === true;
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
