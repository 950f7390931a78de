/** Translates requests of the Responses API to chat completions. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type { ResponseRequest } from '../../schemas/response-requests.ts';
import { LOGPROBS } from '../engines/text-details.ts';
import type { CompletionInput } from '../engines/types.ts';
import { isObject, type JsonObject, present } from '../engines/upstream/json.ts';
import { ApiError } from '../errors.ts';
import { messagesOf } from './response-input.ts';
import type { ResponseTools } from './response-tools.ts';

export type ResponseBody = Static<typeof ResponseRequest> & JsonObject;

/** The fields that Parley supports. */
export const responseFields: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'previous_response_id', 'store', 'stream', 'stream_options'],
  ...['temperature', 'top_p', 'max_output_tokens', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['reasoning', 'text', 'metadata', 'user', 'safety_identifier', 'prompt_cache_key'],
  'prompt_cache_retention',
  // Parley can ignore these: clients that need their effect always get it.
  ...['include', 'top_logprobs', 'truncation', 'background', 'client_metadata'],
]);

/** Fields that reach the model under the same names. */
const passed = [
  ...['temperature', 'top_p', 'user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'],
];

/** Fields that change the meaning of a request, so ignoring them would give a wrong reply. */
const unsupported: Readonly<Record<string, string>> = {
  conversation: 'Conversations of the Responses API are not available here. Use `previous_response_id`.',
  prompt: 'Stored prompts are not available here. Send `instructions` and `input`.',
};

export function refuseUnsupported(body: JsonObject): void {
  for (const [param, message] of Object.entries(unsupported))
    if (body[param] !== undefined && body[param] !== null)
      throw new ApiError('invalidRequest', { message, param });
}

function formatOf(text: unknown): JsonObject | undefined {
  if (!isObject(text) || !isObject(text.format)) return undefined;
  const { type, ...schema } = text.format;
  if (type === 'json_schema') return { type, json_schema: schema };
  return type === 'json_object' ? { type } : undefined;
}

export const includes = ({ include }: JsonObject, what: string): boolean =>
  Array.isArray(include) && (include as unknown[]).includes(what);

/** Returns the input as items. A string becomes a user message. */
export const inputItems = ({ input }: Pick<ResponseBody, 'input'>): readonly unknown[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : (input ?? []);

export const inputRequired = () =>
  new ApiError('invalidRequest', {
    message: 'In the body, `input` is required, unless `previous_response_id` is set.',
    param: 'input',
  });

/**
 * @param model - the resolved model
 * @param items - the whole conversation, including stored responses before the input
 * @throws ApiError `invalidRequest`
 */
export function completionInput(
  body: ResponseBody,
  model: string,
  items: readonly unknown[],
  tools: ResponseTools,
): CompletionInput {
  const { max_output_tokens: most, reasoning, text } = body;
  const functions = tools.allowed(body.tool_choice);
  const hasLogprobs = includes(body, LOGPROBS);
  const hasTools = functions.length > 0;
  return {
    model,
    messages: messagesOf(items, body.instructions) as CompletionInput['messages'],
    ...present({
      ...Object.fromEntries(passed.map((name) => [name, body[name]])),
      max_completion_tokens: most,
      logprobs: hasLogprobs || undefined,
      top_logprobs: hasLogprobs ? body.top_logprobs : undefined,
      tools: hasTools ? functions : undefined,
      tool_choice: tools.choice(body.tool_choice),
      parallel_tool_calls: hasTools ? body.parallel_tool_calls : undefined,
      reasoning_effort: reasoning?.effort,
      response_format: formatOf(text),
      verbosity: isObject(text) ? text.verbosity : undefined,
      stream: body.stream,
    }),
  };
}
