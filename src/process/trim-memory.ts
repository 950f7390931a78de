/** Reduces the memory of a process that has started: docs/decisions/0037-one-bundle.md. */
import { Session } from 'node:inspector';
import type { App } from '../app.ts';

/** Long enough for the first requests of a service that restarts under load. */
const DELAY_MS = 5000;

const residentMegabytes = () => Math.round(process.memoryUsage.rss() / 1e6);

/**
 * Returns the memory that only startup used, about a quarter, to the operating system. V8 does this only after a second
 * full collection, which an idle process may never need. It takes up to 100 ms, so it waits for an idle moment.
 */
export function trimMemoryAfterStart({ app: { log }, inFlight }: Pick<App, 'app' | 'inFlight'>): void {
  const trim = async () => {
    await inFlight.idle();
    const before = residentMegabytes();
    const session = new Session();
    session.connect();
    session.post('HeapProfiler.collectGarbage', () => {
      // Disconnecting needs a lock that V8 still holds here.
      setImmediate(() => session.disconnect());
      log.debug(
        { before, after: residentMegabytes() },
        'Returned memory used at startup to the operating system, in MB.',
      );
    });
  };
  setTimeout(trim, DELAY_MS).unref();
}
