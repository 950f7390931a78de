/**
 * An upstream that uses as little CPU as possible: it responds to every completion immediately with the same bytes. A stream
 * has `FRAMES` frames, each in a separate write. The model `DELAYED` delays the response by 60 ms.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DELAYED, FRAMES } from './rows.ts';

const head = { id: 'chatcmpl-0', created: 1_763_596_800, model: 'bench' };
const usage = { prompt_tokens: 12, completion_tokens: FRAMES, total_tokens: 12 + FRAMES };
const completion = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Open "Your API" and press Create key. '.repeat(8) },
        finish_reason: 'stop',
      },
    ],
    usage,
  }),
);
const frame = (fields: object) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`;
const frames = Array.from({ length: FRAMES }, (_, index) =>
  frame({ choices: [{ index: 0, delta: { content: `word ${index} ` }, finish_reason: null }] }),
);
frames.push(
  `${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${frame({ choices: [], usage })}data: [DONE]\n\n`,
);
const models = JSON.stringify({
  object: 'list',
  data: ['bench', DELAYED].map((id) => ({ id, object: 'model', created: 0, owned_by: 'bench' })),
});

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let next = 0;
  const step = () => {
    if (next === FRAMES) return response.end(frames[next]);
    response.write(frames[next]);
    next += 1;
    setImmediate(step);
  };
  step();
}

/** Searches only the start of the body, where every client puts the relevant fields: see `rows.ts`. */
const asks = (body: Buffer[], text: string) => body[0]?.subarray(0, 2048).includes(text) === true;

const server = createServer((request, response) => {
  const body: Buffer[] = [];
  request.on('data', (chunk: Buffer) => body.push(chunk));
  request.on('end', () => {
    if (request.method === 'GET')
      return response.writeHead(200, { 'content-type': 'application/json' }).end(models);
    if (asks(body, '"stream":true')) return stream(response);
    const answer = () =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': completion.length })
        .end(completion);
    if (asks(body, `"${DELAYED}"`)) setTimeout(answer, 60);
    else answer();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
