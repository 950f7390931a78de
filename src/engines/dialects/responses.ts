/** OpenAI's Responses API as an upstream. Contract section 15. */
import { apis } from '../../upstreams-file/schema.ts';
import type { Concession } from '../upstream/concessions.ts';
import { aboveHigh, refusesEffort, refusesField } from '../upstream/errors.ts';
import { isObject, type JsonObject } from '../upstream/json.ts';
import type { ChatQuery, Dialect } from './dialect.ts';
import { completionOf, ResponsesReader } from './responses-answer.ts';
import { responsesBody } from './responses-body.ts';

/** Passes a request of the same API through. Parley itself stores and resumes responses, so it sends `store: false`. */
function sameBody({ isStream, model }: ChatQuery, body: JsonObject): JsonObject {
  const { stream: _stream, ...rest } = body;
  return { ...rest, model, store: false, ...(isStream && { stream: true }) };
}

const SEALED = 'reasoning.encrypted_content';

/** For requests with reasoning, also requests its encrypted form, which the client can send back. */
function withSealed(body: JsonObject): JsonObject {
  const included = Array.isArray(body.include) ? (body.include as unknown[]) : [];
  if (!isObject(body.reasoning) || included.includes(SEALED)) return body;
  return { ...body, include: [...included, SEALED] };
}

/** Models without reasoning reject this value. */
const withoutSealed: Concession = {
  isFor: (error) => refusesField(error, 'include'),
  apply({ include, ...body }) {
    if (!Array.isArray(include) || !include.includes(SEALED)) return undefined;
    const others = (include as unknown[]).filter((one) => one !== SEALED);
    return others.length === 0 ? body : { ...body, include: others };
  },
};

const highEffort: Concession = {
  isFor: refusesEffort,
  apply: (body) =>
    isObject(body.reasoning) && aboveHigh.has(body.reasoning.effort)
      ? { ...body, reasoning: { ...body.reasoning, effort: 'high' } }
      : undefined,
};

export const responsesDialect: Dialect = {
  language: 'responses',
  path: apis['openai-responses'].path,
  modelsPath: '/models',
  takesChoices: false,
  body: (query) =>
    withSealed(
      query.original?.language === 'responses'
        ? sameBody(query, query.original.body())
        : responsesBody(query),
    ),
  concessions: [withoutSealed, highEffort],
  completion: completionOf,
  events: (broken) => new ResponsesReader(broken),
};
