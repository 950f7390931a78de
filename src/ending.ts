/** When and how the process ends: on a signal, or after an error that nothing caught. Contract section 11. */
import closeWithGrace from 'close-with-grace';
import type { Config } from './config.ts';
import type { Service } from './service.ts';

/** Beyond the time for open requests; then the process ends whatever is open. */
const GRACE_SECONDS = 5;

/**
 * Ends the process in order: SIGTERM lets balancers notice first, Ctrl-C does not. A second signal ends that wait, or
 * else the process.
 *
 * @param service - is stopped before the process exits with 0
 */
export function endInOrder({ app, stop }: Service, { drainSeconds }: Pick<Config, 'drainSeconds'>): void {
  const wait = new AbortController();
  let isStopping = false;
  const grace = closeWithGrace(
    // SIGTERM is ours: to `closeWithGrace` a second signal is always the end.
    { delay: (drainSeconds + GRACE_SECONDS) * 1000, logger: app.log, skip: ['SIGTERM'] },
    async ({ err, signal }) => {
      isStopping = true;
      if (err) app.log.fatal({ err }, 'Shutting down after an uncaught error.');
      else if (signal) app.log.info(`Shutting down on ${signal}.`);
      app.drain.begin();
      await stop();
    },
  );

  process.on('SIGTERM', () => {
    if (isStopping) {
      app.log.error('Received a second signal: exiting immediately.');
      process.exit(1);
    }
    if (app.drain.isUnderWay) return wait.abort();
    app.log.info('Shutting down on SIGTERM.');
    app.drain.begin();
    void app.drain.untilNoticed(wait.signal).then(() => {
      if (!isStopping) grace.close();
    });
  });
}
