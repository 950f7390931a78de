/** Records requests for `/metrics`, and adds gauges for calls, streams, and connections. Contract section 17. */
import fp from 'fastify-plugin';
import type { Database } from '../database/client.ts';
import type { Charging } from '../requests/charge.ts';
import type { Drain } from '../requests/drain.ts';
import { toApiError } from '../requests/errors.ts';

type Options = Pick<Charging, 'calls' | 'ledger' | 'metrics' | 'streams'> & {
  database: Database;
  drain: Drain;
};

export default fp<Options>(
  async (app, { calls, database, drain, ledger, metrics, streams }) => {
    app.addHook('onResponse', (request, reply, done) => {
      const { url: route, method } = request.routeOptions;
      // Unknown paths share a label, because clients can send any number of them.
      const labels =
        route === undefined ? { route: 'none', method: 'any' } : { route, method: String(method) };
      metrics.requestSeconds.observe({ ...labels, status: reply.statusCode }, reply.elapsedTime / 1000);
      done();
    });
    app.addHook('onError', (request, _reply, thrown, done) => {
      // A process that is shutting down is not ready, which is no error.
      const isExpected = drain.isUnderWay && request.routeOptions.url === '/readyz';
      if (!isExpected) metrics.errors.inc({ code: toApiError(thrown).code });
      done();
    });

    metrics.gauge('parley_calls', 'Metered calls in progress, including streams.', [], () => [
      { value: calls.taken },
    ]);
    metrics.gauge('parley_streams', 'Open streams.', [], () => [{ value: streams.size }]);
    metrics.gauge(
      'parley_ledger_unsettled_charges',
      'Charges whose settlement failed and is being retried. Stays 0 while the database is available.',
      [],
      () => [{ value: ledger.unsettled }],
    );
    metrics.gauge(
      'parley_database_connections',
      'Connections to the database by pool: in use, idle, or not open yet.',
      ['pool', 'state'],
      () =>
        database.pools().flatMap(({ idle, inUse, pool, unopened }) => [
          { labels: { pool, state: 'in_use' }, value: inUse },
          { labels: { pool, state: 'idle' }, value: idle },
          { labels: { pool, state: 'unopened' }, value: unopened },
        ]),
    );
    metrics.gauge('parley_database_waiting', 'Statements waiting for a connection, by pool.', ['pool'], () =>
      database.pools().map(({ pool, waiting }) => ({ labels: { pool }, value: waiting })),
    );
  },
  { name: 'metrics', dependencies: ['services', 'calls'] },
);
