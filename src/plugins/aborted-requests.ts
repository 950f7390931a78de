/** Logs requests whose response did not reach its end: their client left, or their connection was closed. */
import fp from 'fastify-plugin';

export default fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.raw.once('close', () => {
        if (reply.raw.writableFinished) return;
        const { routed } = request;
        request.log.info(
          { req: request, responseTime: reply.elapsedTime, ...(routed && { routed }) },
          'request aborted',
        );
      });
      done();
    });
  },
  { name: 'aborted-requests' },
);
