/** OpenAI's chat completions, which engines speak: nothing is translated. Contract sections 7 and 8. */
import { isObject, type JsonObject, parseJson } from '../upstream/json.ts';
import type { Broken } from '../upstream/transport.ts';
import type { Dialect, EventReader } from './dialect.ts';

const DONE = '[DONE]';

function events(broken: Broken): EventReader {
  let isDone = false;
  return {
    get isDone() {
      return isDone;
    },
    read({ data, event }) {
      if (data === DONE) {
        isDone = true;
        return [];
      }
      const chunk = parseJson(data);
      if (!isObject(chunk)) throw broken('A stream event is not a chunk:', data);
      if (chunk.error || event === 'error') throw broken('The upstream ended the stream early:', data);
      return [chunk];
    },
  };
}

export const completionsDialect: Dialect = {
  language: 'completions',
  path: '/chat/completions',
  modelsPath: '/models',
  takesChoices: true,
  body({ input, isStream, model }) {
    const body: JsonObject = { ...input, model };
    if (isStream) body.stream = true;
    else if (body.stream) body.stream = false;
    if (isStream && isObject(body.stream_options))
      body.stream_options = { ...body.stream_options, include_usage: true };
    return body;
  },
  // Some servers reject it. Tokens are then estimated.
  added: {
    name: 'stream_options',
    value: ({ stream, stream_options: given }) =>
      stream === true && !isObject(given) ? { include_usage: true } : undefined,
  },
  completion: (answer) => answer,
  events,
};
