/** Warns once about a proxy without `TRUST_PROXY`, because all clients would share its limits. Contract section 5. */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isLoopback } from '../limits/address.ts';

export default fp(
  async (app) => {
    if (app.config.trustProxyIsSet) return;
    let isSaid = false;
    const look = ({ headers, socket }: FastifyRequest) => {
      if (isSaid || (headers['x-forwarded-for'] ?? headers.forwarded) === undefined) return;
      // Anyone can send these headers from any other address.
      if (!isLoopback(socket.remoteAddress ?? '')) return;
      isSaid = true;
      app.log.warn(
        'A proxy on this machine forwards requests, but TRUST_PROXY is not set, so all clients share one address and its limits. Set TRUST_PROXY=1 for one proxy, or TRUST_PROXY=off if this is intended.',
      );
    };
    app.addHook('onRequest', (request, _reply, done) => {
      look(request);
      done();
    });
  },
  { name: 'unnoticed-proxy', dependencies: ['services'] },
);
