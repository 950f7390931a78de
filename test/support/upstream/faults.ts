/** What the test upstream answers when it is told to fail before its answer begins. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { reset } from '../reset.ts';
import type { CallRecord, Records } from './records.ts';
import { CANARY, type Settings } from './settings.ts';

const BLOCK = 'x'.repeat(64 * 1024);

/** The body of an error, in OpenAI's shape. Like a careless server, it repeats the key that it was sent. */
export const errorBody = (request: IncomingMessage, settings: Partial<Settings>): string =>
  JSON.stringify({
    error: {
      message: `${CANARY} ${settings.message || 'It failed.'} Key: ${request.headers.authorization}`,
      type: 'test_error',
      param: settings.param || null,
      code: settings.code || null,
    },
  });

/** Writes for as long as the client reads. */
function pour(response: ServerResponse, call: CallRecord, records: Records): void {
  while (!response.destroyed) {
    records.wrote(call, BLOCK.length);
    if (!response.write(BLOCK)) return void response.once('drain', () => pour(response, call, records));
  }
}

/**
 * Answers with the fault.
 *
 * @returns false where the call is to be answered after all: the fault is none, or comes later
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
