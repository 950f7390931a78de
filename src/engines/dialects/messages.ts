/** Anthropic's Messages API as an upstream. Contract section 15. */
import { apis } from '../../upstreams-file/schema.ts';
import { isObject, type JsonObject, stringIn, wholeNumber } from '../upstream/json.ts';
import type { ChatQuery, Dialect } from './dialect.ts';
import { completionOf, MessagesReader } from './messages-answer.ts';
import { countBody, messagesBody } from './messages-body.ts';

/** The API version that this dialect implements. */
const VERSION = '2023-06-01';

const keyHeaders = (apiKey: string | undefined): Record<string, string> => ({
  'anthropic-version': VERSION,
  ...(apiKey !== undefined && { [apis.anthropic.keyHeader]: apiKey }),
});

/** Anthropic defines these tools, but the client executes them. */
const CLIENT_TOOL = /^(?:bash|computer|memory|text_editor)_\d{8}$/;

/** Tools of all other types run at Anthropic, at the operator's expense. */
function isRunByClient(tool: unknown): boolean {
  if (!isObject(tool)) return false;
  const type = stringIn(tool.type ?? 'custom');
  return type === 'custom' || CLIENT_TOOL.test(type);
}

/** Passes a request of the same API through. Replaces the model and removes the tools that the upstream would run. */
function sameBody(body: JsonObject, model: string): JsonObject {
  const { tool_choice: choice, tools, ...rest } = body;
  const offered = Array.isArray(tools) ? (tools as unknown[]).filter(isRunByClient) : [];
  const isOffered =
    !isObject(choice) ||
    choice.type !== 'tool' ||
    offered.some((tool) => (tool as JsonObject).name === choice.name);
  return {
    ...rest,
    model,
    ...(offered.length > 0 && {
      tools: offered,
      ...(choice !== undefined && isOffered && { tool_choice: choice }),
    }),
  };
}

/** Fields of a token count. The endpoint rejects fields that affect only the reply. */
const countedFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format'],
  ...['cache_control', 'context_management'],
]);

function bodyOf(query: ChatQuery): JsonObject {
  const { isStream, model, original } = query;
  if (original?.language !== 'anthropic') return messagesBody(query);
  const { stream: _stream, ...body } = sameBody(original.body(), model);
  return { ...body, ...(isStream && { stream: true }) };
}

export const messagesDialect: Dialect = {
  language: 'anthropic',
  path: apis.anthropic.path,
  // The default limit is 20 models.
  modelsPath: '/models?limit=1000',
  keyHeaders,
  takesChoices: false,
  body: bodyOf,
  completion: completionOf,
  events: (broken) => new MessagesReader(broken),
  countTokens: {
    path: `${apis.anthropic.path}/count_tokens`,
    body(query) {
      if (query.original?.language !== 'anthropic') return countBody(query);
      const body = Object.entries(sameBody(query.original.body(), query.model));
      return Object.fromEntries(body.filter(([name]) => countedFields.has(name)));
    },
    count: ({ input_tokens: count }) => wholeNumber(count),
  },
};
