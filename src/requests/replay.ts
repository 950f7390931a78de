/** The answer of an earlier request, sent again to one with the same `Idempotency-Key`. Contract section 10. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Replay } from '../domain/ledger.ts';

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
