/** Spans exported over OTLP. Without a collector, OpenTelemetry is not loaded. Contract section 17. */
import { createRequire } from 'node:module';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import { startService } from '../../src/service.ts';
import { openStream } from '../support/event-reader.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { metered } from '../support/metered.ts';
import { type CollectedSpan, startCollector } from '../support/otlp-collector.ts';
import { freshDatabase } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const sampled = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'vendor=1' };
const secret = 'What is the launch code?';
const chat = { model: MODEL, messages: [{ role: 'user', content: secret }] };

async function start(t: Test, env: Record<string, string>) {
  const database = await freshDatabase('postgres');
  const config = loadConfig({ PORT: '0', LOG_LEVEL: 'silent', ...database.env, ...env });
  const service = await startService(config);
  const document = service.app.swagger() as unknown as OpenApi;
  const client = new Client(`http://127.0.0.1:${service.port}`, document);
  const { key } = await client.createKey(await client.signUp());
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await service.stop();
    isStopped = true;
  };
  t.teardown(async () => {
    await stop();
    await database.drop();
  });
  return { app: service.app, client, key, stop };
}

async function startAll(t: Test, env: Record<string, string> = {}) {
  const collector = await startCollector(t);
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const started = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    CHAT_URL: upstream.url,
    CHAT_MODEL: MODEL,
    IMAGES_URL: upstream.url,
    EMBEDDINGS_URL: upstream.url,
    SEARCH_URL: upstream.searchUrl,
    ...env,
  });
  return { ...started, collector, upstream };
}

const ofRoute = (spans: CollectedSpan[], path: string) =>
  spans.filter(({ attributes }) => attributes['http.route'] === `/api/v1${path}`);
const partsOf = (spans: CollectedSpan[], { spanId }: CollectedSpan) =>
  spans.filter((span) => span.parentId === spanId);

const isLoaded = () =>
  Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('@opentelemetry/sdk-trace'));

t.test('without an endpoint, OpenTelemetry is not loaded', async (t) => {
  const { client } = await start(t, {});
  t.equal((await client.get('//healthz')).status, 200);
  t.notOk(isLoaded());
});

t.test("a chat has a span in the client's trace, and its upstream request is a child span", async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  const answer = await client.post('/chat/completions', chat, { key, headers: sampled });
  const [call] = (await upstream.calls()).last.filter(({ headers }) => headers.traceparent !== undefined);
  await client.get('//healthz');
  await stop();
  t.ok(isLoaded());
  t.same(new Set(collector.paths), new Set(['POST /v1/traces application/x-protobuf']));
  const [request, ...more] = ofRoute(collector.spans, '/chat/completions');
  if (request === undefined) throw new Error('The request has no span.');
  t.same(more, []);
  t.match(request, {
    name: 'POST /api/v1/chat/completions',
    kind: 'server',
    traceId,
    parentId,
    state: 'vendor=1',
    isError: false,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'parley.request_id': answer.headers.get('x-request-id'),
    },
    resource: { 'service.name': 'parley', 'service.version': /^\d/ },
  });
  const [asked, ...others] = partsOf(collector.spans, request);
  t.same(others, []);
  t.match(asked, {
    name: `chat ${MODEL}`,
    kind: 'client',
    traceId,
    isError: false,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': MODEL,
      'gen_ai.response.model': answer.body.model,
      'gen_ai.response.id': answer.body.id,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': answer.body.usage.prompt_tokens,
      'gen_ai.usage.output_tokens': answer.body.usage.completion_tokens,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(upstream.url).port),
    },
  });
  t.equal(call?.headers.traceparent, `00-${traceId}-${asked?.spanId}-01`);
  t.ok((asked?.duration ?? 0) > 0 && (asked?.duration ?? 0) <= request.duration);
  t.notOk(collector.spans.some(({ name }) => name.includes('healthz')));
  for (const body of collector.bodies) {
    t.notOk(body.includes(secret), 'no prompt');
    t.notOk(body.includes(answer.body.choices[0].message.content), 'no reply');
    t.notOk(body.includes(key), 'no key');
  }
});

t.test('every kind of upstream request has a span', async (t) => {
  const { client, collector, key, stop } = await startAll(t);
  const names = {
    ...{ chat: `chat ${MODEL}`, images: 'generate_content' },
    ...{ embeddings: 'embeddings', search: 'search' },
  };
  for (const { body, path } of metered)
    t.equal((await client.post(path, body('Hello.'), { key })).status, 200, path);
  await stop();
  for (const { meter, path } of metered) {
    const [request] = ofRoute(collector.spans, path);
    if (request === undefined) throw new Error(`${path} has no span.`);
    t.equal(request.parentId, '', 'a new trace');
    t.equal(request.traceId, String(request.attributes['parley.request_id']).replaceAll('-', ''));
    const part = { name: names[meter], kind: 'client', traceId: request.traceId };
    t.match(partsOf(collector.spans, request), [part], path);
  }
});

t.test("a stream's span lasts until the stream ends, and records the first output", async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  await upstream.configure({ chunks: 3, chunkIntervalMs: 50 });
  const answer = await client.post('/chat/completions', { ...chat, stream: true }, { key });
  t.equal(answer.status, 200);
  await stop();
  const [asked] = collector.spans.filter(({ kind }) => kind === 'client');
  t.match(asked, { events: ['first output'], isError: false });
  t.match(asked?.attributes, {
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.output_tokens': Number,
    'parley.stream': true,
  });
  t.ok((asked?.duration ?? 0) >= 100, `${asked?.duration} ms`);
});

t.test('a client disconnect ends both spans without an error', async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  await upstream.configure({ chunks: 100, chunkIntervalMs: 100 });
  const stream = await openStream(client, '/chat/completions', { ...chat, stream: true }, { key });
  await stream.next();
  stream.leave();
  await stop();
  const [request] = ofRoute(collector.spans, '/chat/completions');
  t.match(request, { isError: false, events: ['connection closed before the end of the response'] });
  t.match(request && partsOf(collector.spans, request), [{ isError: false, events: ['first output'] }]);
});

t.test('an interrupted stream is an error on both spans', async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  await upstream.configure({ chunks: 10, chunkIntervalMs: 100, fault: 'cut', faultAfter: 5 });
  const answer = await client.post('/chat/completions', { ...chat, stream: true }, { key });
  t.equal(answer.status, 200);
  await stop();
  const [request] = ofRoute(collector.spans, '/chat/completions');
  const broken = { isError: true, attributes: { 'error.type': 'upstreamError' } };
  t.match(request, { ...broken, attributes: { ...broken.attributes, 'http.response.status_code': 200 } });
  t.match(request && partsOf(collector.spans, request), [{ ...broken, events: ['first output'] }]);
});

t.test('counting tokens has a span, and continues the trace', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { env } = upstreamsFile(several([upstream], { kind: 'anthropic' }));
  const collector = await startCollector(t);
  const { client, key, stop } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  const body = { model: 'public', messages: chat.messages };
  const answer = await client.post('/messages/count_tokens', body, { key, headers: sampled });
  t.equal(answer.status, 200);
  const [call] = (await upstream.calls()).last.filter(({ headers }) => headers.traceparent !== undefined);
  await stop();
  const [request] = ofRoute(collector.spans, '/messages/count_tokens');
  const [counted] = (request && partsOf(collector.spans, request)) ?? [];
  t.match(counted, { name: 'count_tokens test-model', traceId, isError: false });
  t.equal(call?.headers.traceparent, `00-${traceId}-${counted?.spanId}-01`);
});

t.test('image and embedding spans name the model of the upstream request', async (t) => {
  const { client, collector, key, stop } = await startAll(t, {
    IMAGES_MODEL: 'painter',
    EMBEDDINGS_MODEL: 'embedder=vectors',
  });
  await client.post('/images/generations', { prompt: 'A house', model: 'named-by-the-client' }, { key });
  await client.post('/embeddings', { input: 'Hello.' }, { key });
  await stop();
  const names = collector.spans.filter(({ kind }) => kind === 'client').map(({ name }) => name);
  t.same(names, ['generate_content painter', 'embeddings vectors']);
});

t.test('each upstream attempt has a span, and a failed attempt records its error', async (t) => {
  const upstreams = await Promise.all([startUpstream({ fault: 'status', status: 500 }), startUpstream()]);
  t.teardown(() => Promise.all(upstreams.map((one) => one.stop())));
  const file = several(upstreams);
  const [first, second] = file.models[0]?.targets ?? [];
  const targets = [first, { ...second, order: 2 }];
  const { env } = upstreamsFile({ ...file, models: [{ ...file.models[0], targets }] });
  const collector = await startCollector(t);
  const { client, key, stop } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  const answer = await client.post('/chat/completions', { ...chat, model: 'public' }, { key });
  t.equal(answer.status, 200);
  await stop();
  const [request] = ofRoute(collector.spans, '/chat/completions');
  const parts = request && partsOf(collector.spans, request);
  t.match(parts, [
    {
      isError: true,
      attributes: {
        'parley.upstream': 'a',
        'error.type': 'upstreamError',
        'gen_ai.request.model': 'test-model',
      },
    },
    { isError: false, attributes: { 'parley.upstream': 'b' } },
  ]);
  t.equal(parts?.length, 2);
});

t.test('a 5xx response is a span error, and a 4xx response is not', async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  await client.post('/chat/completions', { ...chat, messages: 1 }, { key });
  await upstream.configure({ fault: 'status', status: 500 });
  await client.post('/chat/completions', chat, { key });
  await stop();
  t.match(ofRoute(collector.spans, '/chat/completions'), [
    { isError: false, attributes: { 'http.response.status_code': 400 } },
    { isError: true, attributes: { 'http.response.status_code': 502, 'error.type': '502' } },
  ]);
});

t.test('an unsampled request is not exported, and upstreams receive the unsampled flag', async (t) => {
  const { client, collector, key, stop, upstream } = await startAll(t);
  const headers = { traceparent: `00-${traceId}-${parentId}-00` };
  await client.post('/chat/completions', chat, { key, headers });
  const [call] = (await upstream.calls()).last.filter((one) => one.headers.traceparent !== undefined);
  t.match(call?.headers.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  await stop();
  t.same(ofRoute(collector.spans, '/chat/completions'), []);
});

t.test('OTEL_TRACES_SAMPLER=always_off exports no spans', async (t) => {
  const { client, collector, key, stop } = await startAll(t, { OTEL_TRACES_SAMPLER: 'always_off' });
  t.equal((await client.post('/chat/completions', chat, { key, headers: sampled })).status, 200);
  await stop();
  t.same(collector.spans, []);
});

t.test('with an unreachable collector, the service still works and logs a warning', async (t) => {
  const { app, client, key, stop } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    LOG_LEVEL: 'warn',
  });
  const warnings: string[] = [];
  app.log.warn = ((message: string) => warnings.push(message)) as typeof app.log.warn;
  t.equal((await client.post('/chat', { message: 'Hello.' }, { key })).status, 200);
  await eventually('the warning is logged', async () => warnings.length > 0);
  const startedAt = performance.now();
  await stop();
  t.ok(performance.now() - startedAt < 15_000);
  t.match(warnings, [/^Exporting traces: .*ECONNREFUSED/s]);
});
