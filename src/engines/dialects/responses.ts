/** OpenAI's Responses API as an upstream. Contract section 15. */
import { isObject, type JsonObject } from '../upstream/json.ts';
import type { Asked, Dialect } from './dialect.ts';
import { completionOf, ResponsesReader } from './responses-answer.ts';
import { responsesBody } from './responses-body.ts';

/** A request of the same API passes through, but for what Parley does itself: it stores responses and resumes them. */
function sameBody({ isStream, model }: Asked, body: JsonObject): JsonObject {
  const { stream: _stream, ...rest } = body;
  return { ...rest, model, store: false, ...(isStream && { stream: true }) };
}

export const responsesDialect: Dialect = {
  language: 'responses',
  path: '/responses',
  modelsPath: '/models',
  takesChoices: false,
  body: (asked) =>
    asked.said?.language === 'responses' ? sameBody(asked, asked.said.body()) : responsesBody(asked),
  // Models that do not reason reject it.
  added: {
    name: 'include',
    value: ({ include, reasoning }) =>
      isObject(reasoning) && include === undefined ? ['reasoning.encrypted_content'] : undefined,
  },
  completion: completionOf,
  events: (broken) => new ResponsesReader(broken),
};
