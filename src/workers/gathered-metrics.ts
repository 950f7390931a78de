/** The metrics of all workers as those of one process. Contract section 17. */
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Gauge, type PrometheusContentType, Registry } from 'prom-client';
import type { MetricSnapshot } from '../telemetry/metrics.ts';

/** A worker that is busy for longer is left out. Prometheus gives up after 10 s. */
const PATIENCE_MS = 2000;

export type MetricSource = { snapshot(): Promise<MetricSnapshot | undefined> };

/** Gauges tell what is now. */
const growing: ReadonlySet<string> = new Set(['counter', 'histogram']);

const onlyGrows = ({ type }: MetricSnapshot[number]) => growing.has(String(type));

const startedAt = Math.floor(Date.now() / 1000 - process.uptime());

/** In place of the workers' values: a new worker is not a new service. */
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
  /** What each worker said last. */
  readonly #last = new Map<object, MetricSnapshot>();
  /** Of workers that have ended. Without them, a sum would fall, which looks like a restart to Prometheus. */
  #ended: Promise<MetricSnapshot> = Promise.resolve([]);

  async read(sources: Iterable<MetricSource>): Promise<string> {
    await Promise.all([...sources].map((source) => this.#ask(source)));
    return merged(await startTime(), await this.#ended, ...this.#last.values()).metrics();
  }

  /** A worker has ended. What it counted after the last reading is lost. */
  end(source: MetricSource): void {
    const last = this.#last.get(source);
    this.#last.delete(source);
    if (last === undefined) return;
    this.#ended = this.#ended.then((ended) => merged(ended, last.filter(onlyGrows)).getMetricsAsJSON());
  }

  async #ask(source: MetricSource): Promise<void> {
    const snapshot = await Promise.race([source.snapshot(), delay(PATIENCE_MS, undefined, { ref: false })]);
    // Its last values, if it does not answer: a sum must not fall.
    if (snapshot !== undefined) this.#last.set(source, snapshot);
  }
}
