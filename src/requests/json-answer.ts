/** Sends the result of charged work as JSON. Contract section 5. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Outcome } from '../ledger/types.ts';
import { type Charging, runUnderCharge } from './charge.ts';
import type { Cost } from './cost.ts';
import { serialized } from './replay.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Runs metered work and returns its JSON value, or the Fastify reply if it was already sent. Throws the same errors as
 * `runUnderCharge`. Contract section 5.
 */
export function answerJson<T>(
  charging: Charging,
  request: FastifyRequest,
  reply: FastifyReply,
  cost: Cost,
  work: (admission: Admission, signal: AbortSignal) => Promise<{ value: T; outcome: Outcome }>,
): Promise<T | FastifyReply> {
  let value: T;
  let body: string | undefined;
  return runUnderCharge(charging, request, reply, cost, {
    async prepare(admission, signal) {
      const done = await work(admission, signal);
      value = done.value;
      body = admission.retry && serialized(reply, value);
      return { ...done.outcome, ...(body !== undefined && { answer: { status: 200, body } }) };
    },
    send: () => (body === undefined ? value : reply.type(JSON_TYPE).send(body)),
  });
}

/** Like `answerJson`, for work that serializes its own JSON. */
export function answerBytes(
  charging: Charging,
  request: FastifyRequest,
  reply: FastifyReply,
  cost: Cost,
  work: (admission: Admission, signal: AbortSignal) => Promise<{ json: Buffer; outcome: Outcome }>,
): Promise<FastifyReply> {
  let json: Buffer;
  return runUnderCharge(charging, request, reply, cost, {
    async prepare(admission, signal) {
      const done = await work(admission, signal);
      json = done.json;
      const answer = admission.retry && { status: 200, body: json.toString('utf8') };
      return { ...done.outcome, ...(answer && { answer }) };
    },
    send: () => reply.type(JSON_TYPE).send(json),
  });
}
