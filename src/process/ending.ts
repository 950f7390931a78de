/** Shuts down the process on a signal or an uncaught error. Contract section 11. */
import closeWithGrace from 'close-with-grace';
import type { Config } from '../config.ts';
import type { Service } from '../service.ts';

/** Added to `drainSeconds`. After that, the process exits regardless of open requests. */
export const GRACE_SECONDS = 5;

/** @param left - signals that the caller handles */
function inOrder(
  { app, drain, stop }: Service,
  { drainSeconds }: Pick<Config, 'drainSeconds'>,
  left: closeWithGrace.Signals[],
) {
  const state = { isStopping: false };
  const { close } = closeWithGrace(
    { delay: (drainSeconds + GRACE_SECONDS) * 1000, logger: app.log, skip: left },
    async ({ err, signal }) => {
      state.isStopping = true;
      if (err) app.log.fatal({ err }, 'Shutting down after an uncaught error.');
      else if (signal) app.log.info(`Shutting down on ${signal}.`);
      drain.begin();
      await stop();
    },
  );
  return { state, close };
}

/**
 * On SIGTERM, first gives load balancers time to notice. A second signal ends that wait, or exits. With several
 * upstreams, SIGHUP reloads them.
 */
export function endInOrder(
  service: Service,
  { drainSeconds, upstreams }: Pick<Config, 'drainSeconds' | 'upstreams'>,
): void {
  const { app, drain, reload } = service;
  const wait = new AbortController();
  // Handled below, because `closeWithGrace` would exit on any second signal.
  const { close, state } = inOrder(
    service,
    { drainSeconds },
    upstreams ? ['SIGTERM', 'SIGHUP'] : ['SIGTERM'],
  );

  if (upstreams !== undefined) process.on('SIGHUP', reload);

  process.on('SIGTERM', () => {
    if (state.isStopping) {
      app.log.error('Received a second signal: exiting immediately.');
      process.exit(1);
    }
    if (drain.isUnderWay) return wait.abort();
    app.log.info('Shutting down on SIGTERM.');
    drain.begin();
    void drain.untilNoticed(wait.signal).then(() => {
      if (!state.isStopping) close();
    });
  });
}

const ofTerminalOrSupervisor = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * Lets only the primary end a worker. Terminals and supervisors send their signals to all processes, which would count
 * twice.
 *
 * @returns a function that shuts down the worker
 */
export function endOnOrder(service: Service, config: Pick<Config, 'drainSeconds'>): () => void {
  for (const signal of ofTerminalOrSupervisor) process.on(signal, () => {});
  return inOrder(service, config, [...ofTerminalOrSupervisor]).close;
}
