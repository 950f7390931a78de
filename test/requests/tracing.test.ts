/** W3C trace context, from clients to upstreams and the log. */
import t, { type Test } from 'tap';
import { meteredRequests } from '../support/metered.ts';
import { startProcess } from '../support/process.ts';
import { freshDatabase, startTestService } from '../support/service.ts';
import { MODEL, startUpstream, type Upstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const chat = { model: MODEL, messages: [{ role: 'user', content: 'Hello.' }] };

async function start(t: Test) {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { client } = await startTestService(t, 'postgres', {
    CHAT_URL: upstream.url,
    CHAT_MODEL: MODEL,
    IMAGES_URL: upstream.url,
    EMBEDDINGS_URL: upstream.url,
    SEARCH_URL: upstream.searchUrl,
  });
  const { key } = await client.createKey(await client.signUp());
  return { client, key, upstream };
}

/** The headers of the call that has a trace. Listing models is not part of any request. */
const traced = async (upstream: Upstream) =>
  (await upstream.calls()).last.find(({ headers }) => headers.traceparent !== undefined)?.headers;

t.test("every upstream request continues the client's trace with a new parent ID", async (t) => {
  const { client, key, upstream } = await start(t);
  const headers = { traceparent: `00-${id}-${parent}-01`, tracestate: 'vendor=1' };
  const calls = meteredRequests('Hello.');
  const parents = new Set<string>();
  for (const { body, path } of calls) {
    await upstream.reset();
    await client.post(path, body, { key, headers });
    const got = await traced(upstream);
    t.match(got?.tracestate, 'vendor=1', path);
    const [, own = ''] = new RegExp(`^00-${id}-([0-9a-f]{16})-01$`).exec(String(got?.traceparent)) ?? [];
    t.match(own, /^[0-9a-f]{16}$/, path);
    t.not(own, parent);
    parents.add(own);
  }
  t.equal(parents.size, calls.length);
});

t.test('without a valid trace context from the client, the request ID becomes the trace ID', async (t) => {
  const { client, key, upstream } = await start(t);
  const invalid = [
    undefined,
    'nonsense',
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${id}-${'0'.repeat(16)}-01`,
    `ff-${id}-${parent}-01`,
    `00-${id.toUpperCase()}-${parent}-01`,
    `00-${id}-${parent}-01-more`,
  ];
  for (const traceparent of invalid) {
    await upstream.reset();
    const headers = traceparent === undefined ? {} : { traceparent, tracestate: 'vendor=1' };
    const answer = await client.post('/chat/completions', chat, { key, headers });
    const traceId = answer.headers.get('x-request-id')?.replaceAll('-', '');
    const got = await traced(upstream);
    t.match(got?.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`), String(traceparent));
    t.equal(got?.tracestate, undefined);
  }
  await upstream.reset();
  const later = { traceparent: `01-${id}-${parent}-03-more` };
  await client.post('/chat/completions', chat, { key, headers: later });
  t.match(
    (await traced(upstream))?.traceparent,
    new RegExp(`^00-${id}-[0-9a-f]{16}-01$`),
    'a later traceparent version',
  );
});

t.test('every log line of a request has its trace ID', async (t) => {
  const database = await freshDatabase('postgres');
  t.teardown(database.drop);
  const { origin, output } = await startProcess(t, { ...database.env, LOG_LEVEL: 'debug' });
  const response = await fetch(`${origin}/api/v1/usage`, {
    headers: { traceparent: `00-${id}-${parent}-01` },
  });
  const requestId = response.headers.get('x-request-id') ?? '';
  const plain = await fetch(`${origin}/api/v1/usage`);
  const ownId = plain.headers.get('x-request-id') ?? '';
  const linesOf = (reqId: string) =>
    output()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(reqId))
      .map((line) => JSON.parse(line) as { traceId?: string; msg: string });
  await eventually('both requests are logged', async () =>
    [requestId, ownId].every((one) => linesOf(one).some(({ msg }) => msg === 'request completed')),
  );
  t.ok(linesOf(requestId).length > 1);
  for (const { msg, traceId } of linesOf(requestId)) t.equal(traceId, id, msg);
  for (const { msg, traceId } of linesOf(ownId)) t.equal(traceId, ownId.replaceAll('-', ''), msg);
});
