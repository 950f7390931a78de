/** Adds the process's shared resources to the app, for use in requests. */
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import type { Database, Db } from '../database/client.ts';
import type { Engines } from '../engines/engines.ts';
import type { KeyLookup } from '../keys/lookup.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { idHeaders } from '../requests/anthropic.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { Membership } from '../workers/membership.ts';

export type Resources = {
  config: Config;
  database: Database;
  /** Keys for cookies. The first key signs, all of them verify. Only requests call this. */
  sessionSecrets: () => readonly [string, ...string[]];
  /** If undefined, no spans are recorded. */
  tracer?: Tracer | undefined;
  /** Undefined if this process is not one of several workers. */
  membership?: Membership | undefined;
};

declare module 'fastify' {
  interface FastifyInstance {
    config: Config;
    db: Db;
    engines: Engines;
    keyLookup: KeyLookup;
    ledger: Ledger;
    sessionSecrets: readonly [string, ...string[]];
  }
}

type Services = Pick<FastifyInstance, 'engines' | 'keyLookup' | 'ledger'>;

export default fp<Resources & Services>(
  async (app, { config, database, engines, keyLookup, ledger, sessionSecrets }) => {
    app.decorate('config', config);
    app.decorate('db', database.db);
    app.decorate('engines', engines);
    app.decorate('keyLookup', keyLookup);
    app.decorate('ledger', ledger);
    app.decorate('sessionSecrets', { getter: sessionSecrets });
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(idHeaders(request));
      done();
    });
  },
  { name: 'services' },
);
