/** Adds the process's shared resources to the app, for use in requests. */
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import type { Database, Db } from '../database/client.ts';
import type { Engines } from '../engines/engines.ts';
import { idHeaders } from '../requests/anthropic.ts';

type Options = {
  config: Config;
  database: Database;
  engines: Engines;
  /** Keys for cookies. The first key signs, all of them verify. Only requests call this. */
  sessionSecrets: () => readonly [string, ...string[]];
};

declare module 'fastify' {
  interface FastifyInstance {
    config: Config;
    db: Db;
    engines: Engines;
    sessionSecrets: readonly [string, ...string[]];
  }
}

export default fp<Options>(
  async (app, { config, database, engines, sessionSecrets }) => {
    app.decorate('config', config);
    app.decorate('db', database.db);
    app.decorate('engines', engines);
    app.decorate('sessionSecrets', { getter: sessionSecrets });
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(idHeaders(request));
      done();
    });
  },
  { name: 'services' },
);
