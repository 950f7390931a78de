/** Prometheus with the alert rules of `docs/operation`, sped up: a minute in the rules takes two seconds. */
import fs from 'node:fs';
import path from 'node:path';
import { eventually } from '../support/upstream/engine.ts';
import { APP_PORT } from './edge.ts';
import { addressOf, appHosts } from './network.ts';
import { type Place, Program } from './processes.ts';

const SECONDS_PER_MINUTE = 2;
const PORT = 9090;
/** The rules have windows of up to 15 minutes. */
const QUIET_WITHIN_MS = 120_000;
export const METRICS_TOKEN = 'token-of-the-cluster-test';

/** Scales the durations of the rules, as in `[5m]` and `for: 1m`. */
const inTestTime = (rules: string): string =>
  rules.replace(
    /(\[|for: )(\d+)m\b/g,
    (_, before: string, minutes: string) => `${before}${Number(minutes) * SECONDS_PER_MINUTE}s`,
  );

export class Alerts {
  readonly #program: Program;
  readonly #origin = `http://${addressOf('test')}:${PORT}`;

  constructor(place: Place) {
    const rules = fs.readFileSync(new URL('../../docs/operation/alerts.yaml', import.meta.url), 'utf8');
    const targets = appHosts.map((host) => `${addressOf(host)}:${APP_PORT}`);
    const write = (name: string, content: string) => {
      const file = path.join(place.folder, name);
      fs.writeFileSync(file, content);
      return file;
    };
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [write('alerts.yaml', inTestTime(rules))],
      scrape_configs: [
        {
          job_name: 'parley',
          authorization: { credentials: METRICS_TOKEN },
          static_configs: [{ targets }],
        },
      ],
    };
    this.#program = new Program(place, {
      name: 'prometheus',
      host: 'test',
      command: [
        'prometheus',
        // JSON is YAML.
        `--config.file=${write('prometheus.yaml', JSON.stringify(config))}`,
        `--storage.tsdb.path=${path.join(place.folder, 'prometheus')}`,
        `--web.listen-address=${addressOf('test')}:${PORT}`,
      ],
    });
  }

  /** Starts Prometheus. Resolves once it has scraped every replica. */
  async start(): Promise<void> {
    this.#program.start();
    await eventually(
      'Prometheus scrapes every replica',
      async () => (await this.#query('up == 1').catch(() => [])).length === appHosts.length,
      30_000,
    );
  }

  /** Waits until none of these alerts is pending or firing. */
  quiet(names: readonly string[]): Promise<void> {
    const isFiring = async () => (await this.#query('ALERTS')).filter((name) => names.includes(name));
    return eventually(
      `none of the alerts ${names.join(', ')} is active`,
      async () => (await isFiring()).length === 0,
      QUIET_WITHIN_MS,
    );
  }

  /** The names of the alerts that fired in the last `forMs` milliseconds. */
  async fired(forMs: number): Promise<string[]> {
    const seconds = Math.ceil(forMs / 1000);
    return [...new Set(await this.#query(`max_over_time(ALERTS{alertstate="firing"}[${seconds}s])`))].sort();
  }

  /** Runs a query. Returns the alert name of each series, or its instance if it is no alert. */
  async #query(query: string): Promise<string[]> {
    const response = await fetch(`${this.#origin}/api/v1/query?${new URLSearchParams({ query })}`);
    type Answer = { data: { result: { metric: { alertname?: string; instance?: string } }[] } };
    const { data } = (await response.json()) as Answer;
    return data.result.map(({ metric }) => metric.alertname ?? metric.instance ?? '');
  }
}
