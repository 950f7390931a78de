/** Combines the metrics of all workers, so that they look like one process. Contract section 17. */
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Gauge, type PrometheusContentType, Registry } from 'prom-client';
import type { MetricSnapshot } from '../telemetry/metrics.ts';

/** A worker that does not respond within this time keeps its previous values. Prometheus gives up after 10 s. */
const TIMEOUT_MS = 2000;

export type MetricSource = { snapshot(): Promise<MetricSnapshot | undefined> };

/** Metrics that only grow. Gauges only have current values. */
const growing: ReadonlySet<string> = new Set(['counter', 'histogram']);

const onlyGrows = ({ type }: MetricSnapshot[number]) => growing.has(String(type));

const startedAt = Math.floor(Date.now() / 1000 - process.uptime());

/** Replaces the workers' values, because a new worker is not a new service. */
function startTime(): Promise<MetricSnapshot> {
  const registry = new Registry();
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
    aggregator: 'first',
    registers: [registry],
  }).set(startedAt);
  return registry.getMetricsAsJSON();
}

const merged = (...snapshots: MetricSnapshot[]) =>
  AggregatorRegistry.aggregate<PrometheusContentType>(snapshots);

export class GatheredMetrics {
  /** The last snapshot of each worker. */
  readonly #last = new Map<object, MetricSnapshot>();
  /** Sums of workers that have ended. Without them, a sum would fall, which Prometheus would take for a restart. */
  #ended: Promise<MetricSnapshot> = Promise.resolve([]);

  async read(sources: Iterable<MetricSource>): Promise<string> {
    await Promise.all([...sources].map((source) => this.#ask(source)));
    return merged(await startTime(), await this.#ended, ...this.#last.values()).metrics();
  }

  /** Call it when a worker has ended. Its counts after the last reading are lost. */
  end(source: MetricSource): void {
    const last = this.#last.get(source);
    this.#last.delete(source);
    if (last === undefined) return;
    this.#ended = this.#ended.then((ended) => merged(ended, last.filter(onlyGrows)).getMetricsAsJSON());
  }

  async #ask(source: MetricSource): Promise<void> {
    const snapshot = await Promise.race([source.snapshot(), delay(TIMEOUT_MS, undefined, { ref: false })]);
    // If the worker does not respond, its last values remain, because a sum must not fall.
    if (snapshot !== undefined) this.#last.set(source, snapshot);
  }
}
