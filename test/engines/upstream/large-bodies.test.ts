// Contract section 6: a worker thread parses large bodies and transfers them in parts. The upstream must get every value.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { startTestService } from '../../support/service.ts';

const MIB = 1024 * 1024;
const received: { body: string; length: string | undefined }[] = [];
const server = createServer(async (request, response) => {
  response.setHeader('content-type', 'application/json');
  const body = await text(request);
  if (request.method === 'GET') return response.end('{"data":[{"id":"model"}]}');
  received.push({ body, length: request.headers['content-length'] });
  const message = { role: 'assistant', content: 'Hello' };
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const { port } = server.address() as AddressInfo;
const { client } = await startTestService(t, 'postgres', { CHAT_URL: `http://127.0.0.1:${port}/v1` });
const { key } = await client.createKey(await client.signUp());

const manyMembers = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`name ${index}`, 'ä']));
const parts = (...contents: string[]) => contents.map((content) => ({ role: 'user', content }));

const bodies: Record<string, Record<string, unknown>> = {
  'a long ASCII text': { messages: parts('x'.repeat(3 * MIB)) },
  'long texts in other scripts, and short ones': {
    messages: parts('漢字 👩‍🚀 é '.repeat(150_000), 'short', `${'ÿ'.repeat(600_000)}!`, ''),
    user: 'somebody',
  },
  'long texts in parts and in unknown members': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${'QUJD'.repeat(400_000)}` } },
          { type: 'custom', custom: { deep: [['\\"\n\u2028'.repeat(300_000)]] } },
        ],
      },
    ],
  },
  'a long text in a top-level field': {
    messages: parts('Hello'),
    guided_grammar: 'root ::= "é"\n'.repeat(120_000),
  },
  'an object with many members': {
    messages: parts('Hello'),
    tools: [{ type: 'function', function: { name: 'f', parameters: manyMembers } }],
  },
  'a list with many items': { messages: parts('Hello'), allowed_token_ids: Array(700_000).fill(7) },
};

for (const [name, body] of Object.entries(bodies)) {
  t.test(name, async (t) => {
    for (const headers of [{}, { 'idempotency-key': crypto.randomUUID() }]) {
      received.length = 0;
      const answer = await client.request('POST', '/chat/completions', { key, body, headers });
      t.equal(answer.status, 200);
      if (name === 'a long ASCII text')
        t.ok(answer.body.usage.prompt_tokens > MIB / 2, 'the service counts the tokens of the text');
      const [one] = received;
      t.equal(Number(one?.length), Buffer.byteLength(one?.body ?? ''), 'Content-Length is correct');
      const { model, ...rest } = JSON.parse(one?.body ?? '{}');
      t.type(model, 'string');
      // t.same would print a difference of 3 MB.
      t.ok(JSON.stringify(rest) === JSON.stringify(body), 'the upstream gets every value');
    }
  });
}
