/** Checks credentials again after a slow body, in case they were revoked meanwhile. Contract sections 3 and 9. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A body that arrives within this time needs no second check, because a revocation may take a second to apply. */
const PROMPT_MS = 250;

const startedAt = new WeakMap<FastifyRequest, number>();

/** Repeats a guard's check for requests with a slow body. Register it after the guard's own hook. */
export function recheckAfterSlowBody(
  app: FastifyInstance,
  judge: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    startedAt.set(request, performance.now());
    done();
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (performance.now() - (startedAt.get(request) ?? 0) <= PROMPT_MS) done();
    else judge(request, reply).then(() => done(), done);
  });
}
