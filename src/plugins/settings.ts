/** What every other plugin may rely on: configuration, database, engines, ledger, and the headers of all responses. */
import fp from 'fastify-plugin';
import type { Resources } from '../app.ts';
import type { Config } from '../config.ts';
import type { Ledger } from '../domain/ledger.ts';
import type { Engines } from '../engines/types.ts';
import type { Db } from '../store/client.ts';

declare module 'fastify' {
  interface FastifyInstance {
    config: Config;
    db: Db;
    engines: Engines;
    ledger: Ledger;
    sessionSecret: string;
  }
}

export default fp<Resources & { engines: Engines; ledger: Ledger }>(
  async (app, { config, database, engines, ledger, sessionSecret }) => {
    app.decorate('config', config);
    app.decorate('db', database.db);
    app.decorate('engines', engines);
    app.decorate('ledger', ledger);
    app.decorate('sessionSecret', sessionSecret);
    app.addHook('onRequest', async (request, reply) => {
      // Pages and assets that may be kept say so themselves.
      reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' });
    });
  },
  { name: 'settings' },
);
