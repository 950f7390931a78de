/** Counts rejected requests for the request log. The ledger records those that are charged. Contract section 5. */
import fp from 'fastify-plugin';
import { isCountedStatus, Refusals } from '../request-log/refusals.ts';
import type { Caller } from '../requests/caller.ts';
import { toApiError } from '../requests/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    isCharged: boolean;
  }
}

export default fp(
  async (app) => {
    const refusals = new Refusals(app.db, app.log);
    app.decorateRequest('isCharged', false);

    app.addHook('onError', (request, _reply, thrown, done) => {
      const { code, statusCode: status } = toApiError(thrown);
      const caller = request.caller as Caller | undefined;
      if (caller !== undefined && !request.isCharged && isCountedStatus(status))
        refusals.count({ ...caller, code, status });
      done();
    });

    app.addHook('onReady', async () => refusals.start());
    app.addHook('onClose', () => refusals.stop());
  },
  { name: 'refusals', dependencies: ['services', 'errors'] },
);
