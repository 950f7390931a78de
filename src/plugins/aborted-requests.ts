/** Logs requests whose response was cut off because the client disconnected or the connection was closed. */
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
