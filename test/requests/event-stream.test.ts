import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { type EventStream, EventStreams } from '../../src/requests/event-stream.ts';
import { InFlightRequests } from '../../src/requests/in-flight.ts';

/** A server with one stream that the test writes to. */
async function streamOf(t: Test, keepAliveMs: number, beatMs: number) {
  const work = new InFlightRequests();
  const streams = new EventStreams(60_000, keepAliveMs, beatMs);
  const app = Fastify();
  const opened = new Promise<EventStream>((resolve) => {
    app.get('/', async (_request, reply) => {
      reply.header('x-from-a-hook', 'yes');
      resolve(streams.open(reply, work.begin(reply)));
      return reply;
    });
  });
  const url = await app.listen({ port: 0 });
  t.teardown(() => app.close());
  const response = fetch(url, { headers: { connection: 'close' } });
  return { stream: await opened, response, work };
}

t.test('a stream sends keep-alive comments only while it is idle', async (t) => {
  const { stream, response } = await streamOf(t, 100, 20);
  for (let time = 0; time < 10; time += 1) {
    stream.write('data: 1\n\n');
    // Shorter than the keep-alive interval of 100 ms.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // Three intervals.
  await new Promise((resolve) => setTimeout(resolve, 330));
  stream.end('data: 2\n\n');
  const text = await (await response).text();
  t.match(text, /^(data: 1\n\n){10}(: keep-alive\n\n){2,3}data: 2\n\n$/);
});

t.test('response headers include those from hooks, and are sent with the first event', async (t) => {
  const { stream, response } = await streamOf(t, 1000, 100);
  let isAnswered = false;
  response.then(() => {
    isAnswered = true;
  });
  // Enough for headers that are sent too early to arrive.
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.notOk(isAnswered);
  stream.end('data: 1\n\n');
  const { headers, status } = await response;
  t.equal(status, 200);
  t.equal(headers.get('x-from-a-hook'), 'yes');
  t.equal(headers.get('x-accel-buffering'), 'no');
});
