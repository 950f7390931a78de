/** A worker: the service with the primary's shared counters. Contract section 13. */
import cluster from 'node:cluster';
import type { Config } from '../config.ts';
import { queueHashesWith } from '../domain/passwords.ts';
import { type Service, startService } from '../service.ts';
import { Channel } from '../workers/channel.ts';
import type { Membership } from '../workers/membership.ts';
import type { PrimaryMethods, WorkerMethods } from '../workers/methods.ts';
import { shareOf } from '../workers/settings.ts';
import { SharedSlots } from '../workers/shared-limits.ts';
import { endOnOrder } from './ending.ts';

const divided = (config: Config): Config => ({
  ...config,
  databaseConnections: shareOf(config.databaseConnections, config.workers),
  upstreamLimits: {
    ...config.upstreamLimits,
    connections: shareOf(config.upstreamLimits.connections, config.workers),
  },
});

/** Serves until the primary stops it or dies. Throws the errors of `startService`. */
export async function startWorker(config: Config, name: string): Promise<Service> {
  let service: Service | undefined;
  let end = () => process.exit(0);
  const methods: WorkerMethods = {
    snapshot: () => (service as Service).metrics.snapshot(),
    drain: () => service?.drain.begin(),
    stop: () => end(),
    reload: () => void service?.reload(),
  };
  // The callback keeps a primary that has just died from crashing this process.
  const send = (messages: unknown) => process.send?.(messages, undefined, undefined, () => {});
  const primary = new Channel<PrimaryMethods>(send, methods);
  process.on('message', (message) => primary.receive(message));
  cluster.worker?.once('disconnect', () => {
    primary.close();
    // Otherwise Node would exit at once and cut off responses.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
    end();
  });

  const [number = '', id = ''] = name.split('/');
  const membership: Membership = { number: Number(number), workers: config.workers, service: id, primary };
  queueHashesWith(new SharedSlots(primary));
  const started = await startService(divided(config), undefined, membership);
  const close = endOnOrder(started, config);
  end = () => {
    started.drain.begin();
    close();
    return undefined as never;
  };
  service = started;
  primary.notify('isReady', { port: started.port });
  return started;
}
