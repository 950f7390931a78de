/** When and how the process shuts down: on a signal or an uncaught error. Contract section 11. */
import closeWithGrace from 'close-with-grace';
import type { Config } from './config.ts';
import type { Service } from './service.ts';

/** Added to `drainSeconds`; then the process exits regardless of open requests. */
const GRACE_SECONDS = 5;

/** With several upstreams, SIGHUP reloads them. SIGTERM first gives load balancers time to notice. A second signal ends that wait, or else the process. */
export function endInOrder(
  { app, reload, stop }: Service,
  { drainSeconds, upstreams }: Pick<Config, 'drainSeconds' | 'upstreams'>,
): void {
  const wait = new AbortController();
  let isStopping = false;
  const grace = closeWithGrace(
    // Handled below: `closeWithGrace` would exit on any second signal.
    {
      delay: (drainSeconds + GRACE_SECONDS) * 1000,
      logger: app.log,
      skip: upstreams ? ['SIGTERM', 'SIGHUP'] : ['SIGTERM'],
    },
    async ({ err, signal }) => {
      isStopping = true;
      if (err) app.log.fatal({ err }, 'Shutting down after an uncaught error.');
      else if (signal) app.log.info(`Shutting down on ${signal}.`);
      app.drain.begin();
      await stop();
    },
  );

  if (upstreams !== undefined) process.on('SIGHUP', reload);

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
