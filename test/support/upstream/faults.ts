/** Faults that the test upstream injects before its response starts. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { reset } from '../reset.ts';
import type { CallRecord, Records } from './records.ts';
import { CANARY, type Settings } from './settings.ts';

const BLOCK = 'x'.repeat(64 * 1024);

/** An error body in OpenAI's format. Like a careless server, it repeats the key of the request. */
export const errorBody = (request: IncomingMessage, settings: Partial<Settings>): string =>
  JSON.stringify({
    error: {
      message: `${CANARY} ${settings.message || 'It failed.'} Key: ${request.headers.authorization}`,
      type: 'test_error',
      param: settings.param || null,
      code: settings.code || null,
    },
  });

const EMPTY_CHUNK = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: null }] })}\n\n`;
const COMMENTS = ': x\n\n'.repeat(10_000);
const EMPTY_CHUNKS = EMPTY_CHUNK.repeat(1000);
const MEMBERS = '{},'.repeat(20_000);

/** Writes as long as the client reads. */
function pour(response: ServerResponse, call: CallRecord, records: Records, block = BLOCK): void {
  while (!response.destroyed) {
    records.wrote(call, block.length);
    if (!response.write(block))
      return void response.once('drain', () => pour(response, call, records, block));
  }
}

/**
 * Responds with the fault in the settings.
 *
 * @returns false if there is no fault, or if it occurs later in the response
 */
export function answerFault(
  request: IncomingMessage,
  response: ServerResponse,
  call: CallRecord,
  records: Records,
  settings: Settings,
  isStream: boolean,
): boolean {
  const json = { 'content-type': 'application/json' };
  switch (settings.fault) {
    case 'reset':
      reset(request.socket);
      return true;
    case 'hang':
      return true;
    case 'status':
      response.writeHead(settings.status, {
        ...json,
        ...(settings.retryAfter && { 'retry-after': settings.retryAfter }),
      });
      response.end(errorBody(request, settings));
      return true;
    case 'redirect':
      response.writeHead(307, { location: `http://${request.headers.host}/v1/elsewhere?${CANARY}` }).end();
      return true;
    case 'content-type':
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${CANARY}</p>`);
      return true;
    case 'bad-json':
      response.writeHead(200, json).end(`{"choices": [${CANARY}`);
      return true;
    case 'error-body':
      response.writeHead(200, isStream ? { 'content-type': 'text/event-stream' } : json);
      response.end(isStream ? `data: ${errorBody(request, settings)}\n\n` : errorBody(request, settings));
      return true;
    case 'giant':
      response.writeHead(200, isStream ? { 'content-type': 'text/event-stream' } : json);
      response.write(isStream ? 'data: "' : '"');
      pour(response, call, records);
      return true;
    case 'headers':
      response.writeHead(200, { ...json, 'x-long': 'x'.repeat(1024 * 1024) }).end('{}');
      return true;
    case 'comments':
    case 'empty-chunks':
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      pour(response, call, records, settings.fault === 'comments' ? COMMENTS : EMPTY_CHUNKS);
      return true;
    case 'members':
      response.writeHead(200, json).write('{"data":[');
      pour(response, call, records, MEMBERS);
      return true;
    case 'invalid-utf8': {
      if (isStream) return false;
      const parts = [
        '{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"',
        '"}}]}',
      ];
      response
        .writeHead(200, json)
        .end(
          Buffer.concat([
            Buffer.from(parts[0] ?? ''),
            Buffer.from([0xff, 0xc3]),
            Buffer.from(parts[1] ?? ''),
          ]),
        );
      return true;
    }
    default:
      return false;
  }
}
