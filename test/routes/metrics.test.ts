import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { plansFile, startTestService } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

type Sample = { name: string; labels: Record<string, string>; value: number };

/** Parses Prometheus's text format strictly: every line must be a known comment or a sample. */
function parse(t: Test, text: string): Sample[] {
  const samples: Sample[] = [];
  const types = new Set<string>();
  for (const line of text.split('\n')) {
    const [, type] = /^# TYPE ([a-z_:0-9]+) (counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (type !== undefined) types.add(type);
    if (line === '' || /^# (HELP [a-z_:0-9]+ \S|TYPE )/.test(line)) continue;
    const [, name, labels = '', value] =
      /^([a-z_:0-9]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) t.fail(`invalid line: ${line}`);
    else {
      const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)];
      samples.push({
        name,
        labels: Object.fromEntries(pairs.map(([, label, text]) => [label, text])),
        value: Number(value),
      });
      t.ok(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} has a type`);
    }
  }
  return samples;
}

const sum = (samples: Sample[], name: string, labels: Record<string, string> = {}) =>
  samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((total, { value }) => total + value, 0);

t.test('GET /metrics 200: counts requests, charges, tokens, and upstream responses', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { client } = await startTestService(t, 'postgres', {
    CHAT_URL: upstream.url,
    CHAT_MODEL: MODEL,
    ...plansFile(t, { chat: 2 }),
  });
  const owner = await client.signUp();
  const { key } = await client.createKey(owner);
  const chat = { model: MODEL, messages: [{ role: 'user', content: 'Hello.' }] };
  await upstream.configure({ fault: 'status', status: 500 });
  t.equal((await client.post('/chat/completions', chat, { key })).status, 502);
  await upstream.reset();
  t.equal((await client.post('/chat/completions', chat, { key })).status, 200);
  await client.post('/chat/completions', { ...chat, stream: true }, { key });
  t.equal((await client.post('/chat/completions', chat, { key })).status, 429);
  await client.get('/invented-by-a-client', { key });
  const answer = await client.get('//metrics');
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  const samples = parse(t, answer.text);

  t.equal(sum(samples, 'parley_charges_total', { meter: 'chat', step: 'admitted' }), 3);
  t.equal(sum(samples, 'parley_charges_total', { meter: 'chat', step: 'final' }), 2);
  t.equal(sum(samples, 'parley_charges_total', { meter: 'chat', step: 'refunded' }), 1);
  t.equal(sum(samples, 'parley_charges_total', { meter: 'chat', step: 'refused' }), 1);
  t.equal(sum(samples, 'parley_errors_total', { code: 'quotaExceeded' }), 1);
  const route = '/api/v1/chat/completions';
  t.equal(
    sum(samples, 'parley_http_request_duration_seconds_count', { route, method: 'POST', status: '200' }),
    2,
  );
  t.equal(sum(samples, 'parley_time_to_first_output_seconds_count', { route }), 1);
  // One response may be for the list of models.
  t.ok(sum(samples, 'parley_upstream_response_seconds_count', { upstream: 'chat', status: '200' }) >= 2);
  // Near the limit, the ledger admits each request. A read rejects requests over the limit.
  t.equal(sum(samples, 'parley_ledger_batch_size_sum', { kind: 'admission' }), 3);
  t.ok(sum(samples, 'parley_ledger_wait_seconds_count', { kind: 'settlement' }) >= 2);
  t.ok(sum(samples, 'parley_tokens_total', { direction: 'output' }) > 0);
  t.ok(sum(samples, 'parley_key_lookups_total') >= 3);
  t.ok(sum(samples, 'parley_database_connections', { pool: 'ledger' }) > 0);
  t.equal(sum(samples, 'parley_ledger_unsettled_charges'), 0);
  t.equal(sum(samples, 'parley_calls'), 0);
  t.ok(sum(samples, 'nodejs_eventloop_lag_seconds') >= 0);
  t.notMatch(answer.text, /invented-by-a-client/, 'clients cannot add labels');
  for (const secret of [key, owner.email, upstream.url]) t.notOk(answer.text.includes(secret));
});

t.test('GET /metrics 401: METRICS_TOKEN is set, and the request does not have it', async (t) => {
  const { client } = await startTestService(t, 'embedded', { METRICS_TOKEN: 'scrape-me' });
  for (const authorization of [undefined, 'Bearer scrape-m', 'Basic scrape-me']) {
    const { body, headers, status } = await client.get('//metrics', {
      headers: authorization === undefined ? {} : { authorization },
    });
    t.match(
      { status, body },
      { status: 401, body: { error: { message: /METRICS_TOKEN/ } } },
      String(authorization),
    );
    t.match(headers.get('www-authenticate'), /^Bearer/);
  }
  const read = await client.get('//metrics', { headers: { authorization: 'Bearer scrape-me' } });
  t.equal(read.status, 200);
});

t.test(
  'GET /metrics 404: METRICS_TOKEN is not set, and the request comes through a proxy or from another address',
  async (t) => {
    const { client } = await startTestService(t, 'embedded');
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])
      t.equal((await client.get('//metrics', { headers: { [name]: '1.2.3.4' } })).status, 404, name);
    t.equal((await client.get('//metrics')).status, 200);

    const address = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
    if (address === undefined) return t.comment('This machine has only loopback addresses.');
    const { client: other } = await startTestService(t, 'embedded', { HOST: '0.0.0.0' });
    const response = await fetch(`http://${address}:${new URL(other.origin).port}/metrics`);
    t.equal(response.status, 404);
    t.match(await response.json(), { error: { message: /METRICS_TOKEN/ } });
  },
);
