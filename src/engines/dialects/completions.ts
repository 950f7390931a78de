/** The dialect of OpenAI's chat completions, the engines' own API: no translation. Contract sections 7 and 8. */
import { apis } from '../../upstreams-file/schema.ts';
import { withOneSystemMessage } from '../system-messages.ts';
import type { Concession } from '../upstream/concessions.ts';
import { aboveHigh, refusesEffort, refusesField, refusesLaterSystem } from '../upstream/errors.ts';
import { isObject, type JsonObject, parseJson } from '../upstream/json.ts';
import { outputLimit, refusesLimitName, withNewerLimit, withOutputLimit } from '../upstream/output-limit.ts';
import type { BrokenError } from '../upstream/transport.ts';
import type { Dialect, EventReader } from './dialect.ts';

const DONE = '[DONE]';

function events(broken: BrokenError): EventReader {
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

const optionsOf = (options: unknown): JsonObject => (isObject(options) ? options : {});

const newerLimit: Concession = {
  isFor: refusesLimitName,
  apply(body, input) {
    const limit = outputLimit(input);
    return limit === undefined ? undefined : withNewerLimit(body, limit);
  },
};

/** Does not request usage. Parley then estimates the tokens. */
const withoutUsage: Concession = {
  isFor: (error) => refusesField(error, 'stream_options'),
  apply({ stream_options: options, ...body }, input) {
    return options === undefined || isObject(input.stream_options) ? undefined : body;
  },
};

const highEffort: Concession = {
  isFor: refusesEffort,
  apply: (body) => (aboveHigh.has(body.reasoning_effort) ? { ...body, reasoning_effort: 'high' } : undefined),
};

const oneSystemMessage: Concession = {
  isFor: refusesLaterSystem,
  apply(body) {
    const messages = withOneSystemMessage(body.messages as unknown[]);
    return messages && { ...body, messages };
  },
};

export const completionsDialect: Dialect = {
  path: apis.openai.path,
  modelsPath: '/models',
  takesChoices: true,
  body({ input, isStream, model }) {
    const body: JsonObject = { ...input, model };
    if (isStream) body.stream = true;
    else if (body.stream) body.stream = false;
    if (isStream) body.stream_options = { ...optionsOf(body.stream_options), include_usage: true };
    const limit = outputLimit(input);
    return limit === undefined ? body : withOutputLimit(body, limit);
  },
  concessions: [newerLimit, withoutUsage, highEffort, oneSystemMessage],
  completion: (answer) => answer,
  events,
};
