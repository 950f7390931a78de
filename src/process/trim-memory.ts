/** Memory of a process that has started and waits for requests: docs/decisions/0037-one-bundle.md. */
import { Session } from 'node:inspector';
import type { FastifyInstance } from 'fastify';

/** After the first requests of a service that restarts under load. */
const DELAY_MS = 5000;

const residentMegabytes = () => Math.round(process.memoryUsage.rss() / 1e6);

/**
 * Returns to the system what only the start used, a quarter of the memory. V8 does so by itself only after a second full
 * collection, which an idle process may never need. It takes up to a tenth of a second, so it waits for an idle moment.
 */
export function trimMemoryAfterStart({ inFlight, log }: Pick<FastifyInstance, 'inFlight' | 'log'>): void {
  const trim = async () => {
    await inFlight.idle();
    const before = residentMegabytes();
    const session = new Session();
    session.connect();
    session.post('HeapProfiler.collectGarbage', () => {
      // V8 still holds a lock here that disconnecting takes as well.
      setImmediate(() => session.disconnect());
      log.debug(
        { before, after: residentMegabytes() },
        'Returned memory used at startup to the operating system, in MB.',
      );
    });
  };
  setTimeout(trim, DELAY_MS).unref();
}
