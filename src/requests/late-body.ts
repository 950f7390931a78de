/**
 * A body may take minutes to come. What was judged when the head came is judged again then, so that a credential that was
 * ended meanwhile begins nothing any more. Contract sections 3 and 9.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A request that is whole within this needs no second look: revocations have a second to take effect. */
const AT_ONCE_MS = 250;

const begun = new WeakMap<FastifyRequest, number>();

/**
 * Has a scope's guard look a second time at requests whose body was slow. To be registered after the guard's own hook.
 *
 * @param judge - throws where the credential does not hold any more
 */
export function judgeLateBodies(
  app: FastifyInstance,
  judge: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  app.addHook('onRequest', async (request) => {
    begun.set(request, performance.now());
  });
  app.addHook('preHandler', async (request, reply) => {
    if (performance.now() - (begun.get(request) ?? 0) > AT_ONCE_MS) await judge(request, reply);
  });
}
