// GET /metrics with several workers. Contract section 17.
import t from 'tap';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { GatheredMetrics } from '../../src/workers/gathered-metrics.ts';
import { metric } from './workers.ts';

function worker(calls: number) {
  const metrics = new Metrics();
  metrics.gauge('parley_calls', 'Calls.', [], () => [{ value: calls }]);
  metrics.gauge('parley_webhook_waiting_messages', 'Of all.', [], () => [{ value: 7 }], 'max');
  metrics.errors.inc({ code: 'notFound' }, 2);
  metrics.requestSeconds.observe({ method: 'GET', route: '/a', status: 200 }, 0.02);
  return { metrics, source: { snapshot: async () => JSON.parse(JSON.stringify(await metrics.snapshot())) } };
}

t.test(
  'counters, buckets, and per-worker gauges are added up, but service-wide gauges are not',
  async (t) => {
    const gathered = new GatheredMetrics();
    const workers = [worker(1), worker(2)];
    const text = await gathered.read(workers.map(({ source }) => source));
    t.equal(metric(text, 'parley_errors_total', 'code="notFound"'), 4);
    t.equal(metric(text, 'parley_http_request_duration_seconds_count'), 2);
    t.equal(metric(text, 'parley_http_request_duration_seconds_bucket', 'le="0.025"'), 2);
    t.equal(metric(text, 'parley_http_request_duration_seconds_bucket', 'le="0.01"'), 0);
    t.equal(metric(text, 'parley_calls'), 3);
    t.equal(metric(text, 'parley_webhook_waiting_messages'), 7);
    t.equal(metric(text, 'parley_info'), 1);
    t.ok(metric(text, 'process_cpu_seconds_total') > 0);
    const seconds = Date.now() / 1000 - metric(text, 'process_start_time_seconds');
    t.ok(seconds >= 0 && seconds < 3600, 'the start time of this process');
  },
);

t.test(
  'an ended worker keeps its counters but not its gauges, and an unresponsive one keeps its last values',
  async (t) => {
    const gathered = new GatheredMetrics();
    const [dying, other] = [worker(1), worker(2)];
    await gathered.read([dying.source, other.source]);
    gathered.end(dying.source);
    let text = await gathered.read([other.source]);
    t.equal(metric(text, 'parley_errors_total'), 4);
    t.equal(metric(text, 'parley_http_request_duration_seconds_bucket', 'le="+Inf"'), 2);
    t.equal(metric(text, 'parley_calls'), 2);

    gathered.end(other.source);
    const heir = worker(0);
    text = await gathered.read([heir.source]);
    t.equal(metric(text, 'parley_errors_total'), 6);

    heir.metrics.errors.inc({ code: 'notFound' });
    heir.source.snapshot = async () => undefined;
    t.equal(metric(await gathered.read([heir.source]), 'parley_errors_total'), 6);
  },
);
