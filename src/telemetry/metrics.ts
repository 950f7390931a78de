/**
 * The metrics of this process, for Prometheus. Contract section 17. Label values come from fixed sets or the operator's
 * file, never from clients: no accounts, keys, models, or unknown paths.
 */
import { type Aggregator, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { version } from '../project.ts';

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const databaseSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** A value that is read on each scrape. */
export type Reading = { labels?: Record<string, string>; value: number };

/** The metrics of one process, to add to those of others. */
export type MetricSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export class Metrics {
  readonly #registry = new Registry();
  readonly #registers = { registers: [this.#registry] };
  #hasDefaults = false;

  readonly requestSeconds = new Histogram({
    name: 'parley_http_request_duration_seconds',
    help: 'Time from a request to the end of its response, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: requestSeconds,
    ...this.#registers,
  });
  readonly errors = new Counter({
    name: 'parley_errors_total',
    help: 'Error responses, and streams that ended with an error, by error code.',
    labelNames: ['code'],
    ...this.#registers,
  });
  readonly charges = new Counter({
    name: 'parley_charges_total',
    help: 'Steps of charges in this process, by meter. Refunds that wait for the database to return are not counted.',
    labelNames: ['meter', 'step'],
    ...this.#registers,
  });
  readonly excessTokens = new Counter({
    name: 'parley_excess_tokens_total',
    help: 'Tokens that engines used beyond what requests reserved, for accounts with a daily token limit.',
    ...this.#registers,
  });
  readonly tokens = new Counter({
    name: 'parley_tokens_total',
    help: 'Tokens that engines reported.',
    labelNames: ['direction'],
    ...this.#registers,
  });
  readonly batchSize = new Histogram({
    name: 'parley_ledger_batch_size',
    help: 'Charges per statement that admits or settles them.',
    labelNames: ['kind'],
    buckets: batchSizes,
    ...this.#registers,
  });
  readonly batchSeconds = new Histogram({
    name: 'parley_ledger_batch_duration_seconds',
    help: 'Duration of statements that admit or settle charges, including repeats after a lost connection.',
    labelNames: ['kind'],
    buckets: databaseSeconds,
    ...this.#registers,
  });
  readonly ledgerSeconds = new Histogram({
    name: 'parley_ledger_wait_seconds',
    help: 'Time to admit or settle a charge, including the wait before the statement.',
    labelNames: ['kind'],
    buckets: databaseSeconds,
    ...this.#registers,
  });
  readonly keyLookups = new Counter({
    name: 'parley_key_lookups_total',
    help: 'Lookups of API keys: from the cache, from the database, or unknown.',
    labelNames: ['result'],
    ...this.#registers,
  });
  readonly firstOutputSeconds = new Histogram({
    name: 'parley_time_to_first_output_seconds',
    help: "Time from a stream's admission to the engine's first output.",
    labelNames: ['route'],
    buckets: requestSeconds,
    ...this.#registers,
  });
  readonly upstreamSeconds = new Histogram({
    name: 'parley_upstream_response_seconds',
    help: 'Time from a request to the response headers of an upstream. Status `none`: it did not respond.',
    labelNames: ['upstream', 'status'],
    buckets: requestSeconds,
    ...this.#registers,
  });

  readonly upstreamAttempts = new Counter({
    name: 'parley_upstream_attempts_total',
    help: 'Attempts at the upstreams of UPSTREAMS_FILE. Outcome `left`: neither success nor failure, for example because the client disconnected.',
    labelNames: ['upstream', 'outcome'],
    ...this.#registers,
  });

  readonly webhookAttempts = new Counter({
    name: 'parley_webhook_attempts_total',
    help: 'Attempts to deliver a message to a webhook.',
    labelNames: ['outcome'],
    ...this.#registers,
  });

  constructor() {
    new Gauge({
      name: 'parley_info',
      help: 'Always 1. The label is the running version.',
      labelNames: ['version'],
      aggregator: 'first',
      ...this.#registers,
    }).set({ version }, 1);
  }

  /**
   * Adds a metric whose values come from `read` on each scrape.
   *
   * @param aggregator - how the values of several workers are combined
   */
  gauge(
    name: string,
    help: string,
    labelNames: string[],
    read: () => Reading[],
    aggregator: Aggregator = 'sum',
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      aggregator,
      ...this.#registers,
      collect() {
        this.reset();
        for (const { labels = {}, value } of read()) this.set(labels, value);
      },
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in Prometheus's text format. */
  text(): Promise<string> {
    this.#collectDefaults();
    return this.#registry.metrics();
  }

  snapshot(): Promise<MetricSnapshot> {
    this.#collectDefaults();
    return this.#registry.getMetricsAsJSON();
  }

  /** Metrics of Node.js sample the event loop, so they start with the first scrape. */
  #collectDefaults(): void {
    if (!this.#hasDefaults) collectDefaultMetrics({ register: this.#registry });
    this.#hasDefaults = true;
  }
}
