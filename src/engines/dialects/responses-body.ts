/** Translates requests to OpenAI's Responses API. Contract section 15. */
import { stepsOf } from '../message-steps.ts';
import { RESPONSES_FORMAT, sealedReasoning } from '../reasoning-details.ts';
import { LOGPROBS } from '../text-details.ts';
import { ownContent, resultContent } from '../tool-files.ts';
import { isObject, type JsonObject, present } from '../upstream/json.ts';
import type { ChatQuery } from './dialect.ts';
import { callsOf, cannotExpress, type Part, partsOf, readable, textsOf, toolsOf } from './parts.ts';

type Item = JsonObject & { type: string };

/** Fields with the same name in both APIs. */
const passed = [
  'temperature',
  'top_p',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
];

function inputPart(part: Part): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  if (part.type === 'image')
    return present({ type: 'input_image', image_url: part.url, detail: part.detail });
  if (part.type === 'audio') return { type: 'input_audio', input_audio: part.audio };
  return present({ type: 'input_file', file_data: part.data, filename: part.filename });
}

/** Reasoning from upstreams of this kind. The API rejects reasoning from others. */
const reasoningItems = (message: JsonObject): Item[] =>
  sealedReasoning(message)
    .filter(({ seal }) => seal.format === RESPONSES_FORMAT)
    .map(({ seal, text }) => ({
      type: 'reasoning',
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      encrypted_content: seal.value,
    }));

function stepItems(step: JsonObject, path: string): Item[] {
  const { content, refusal } = step;
  const text = textsOf(content, `${path}.content`);
  const parts = [
    ...(text === '' ? [] : [{ type: 'output_text', text, annotations: [] }]),
    ...(typeof refusal === 'string' && refusal !== '' ? [{ type: 'refusal', refusal }] : []),
  ];
  const calls = callsOf(step, path).map(({ arguments: given, id, name }) => ({
    ...{ type: 'function_call', call_id: id, name, arguments: given },
  }));
  return [
    ...reasoningItems(step),
    ...(parts.length > 0 ? [{ type: 'message', role: 'assistant', content: parts }] : []),
    ...calls,
  ];
}

function itemsOf(message: JsonObject, path: string): Item[] {
  const { content, role, tool_call_id: id } = message;
  const place = `${path}.content`;
  if (role === 'assistant') return stepsOf(message).flatMap((step) => stepItems(step, path));
  if (role === 'tool') {
    const parts = partsOf(resultContent(message), place);
    const output = parts.every(({ type }) => type === 'text')
      ? textsOf(content, place)
      : parts.map(inputPart);
    return [{ type: 'function_call_output', call_id: id, output }];
  }
  if (role !== 'user' && role !== 'system' && role !== 'developer')
    throw cannotExpress(`${path}.role`, 'must not be `function`. Use `tool`.');
  const own = ownContent(message);
  // The message had only files that belong to the tool results before it.
  if (Array.isArray(own) && own.length === 0) return [];
  return [{ type: 'message', role, content: partsOf(own, place).map(inputPart) }];
}

const inputOf = (messages: readonly unknown[]): Item[] =>
  messages.flatMap((message, index) =>
    itemsOf(readable(message, `messages.${index}`) as JsonObject, `messages.${index}`),
  );

function choiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  return isObject(choice.function) ? { type: 'function', name: choice.function.name } : undefined;
}

function toolFields(input: JsonObject): JsonObject {
  // Unlike chat completions, this API makes schemas strict by default.
  const tools = toolsOf(input).map(({ description, name, parameters, strict = false }) => ({
    ...present({ type: 'function', name, description, strict }),
    parameters: parameters ?? { type: 'object', properties: {} },
  }));
  if (tools.length === 0) return {};
  return {
    tools,
    tool_choice: choiceOf(input.tool_choice),
    parallel_tool_calls: input.parallel_tool_calls,
  };
}

function textOf({ response_format: format, verbosity }: JsonObject): JsonObject | undefined {
  const schema = isObject(format) && isObject(format.json_schema) ? format.json_schema : {};
  const requested =
    isObject(format) && (format.type === 'json_schema' || format.type === 'json_object')
      ? { ...schema, type: format.type }
      : undefined;
  const text = present({ format: requested, verbosity });
  return Object.keys(text).length > 0 ? text : undefined;
}

/** @throws ApiError `invalidRequest` that names the part that the API cannot express */
export function responsesBody({ input, isStream, model }: ChatQuery): JsonObject {
  const request = input as JsonObject;
  const { max_completion_tokens: most, max_tokens: older, reasoning_effort: effort } = request;
  return {
    model,
    input: inputOf(request.messages as unknown[]),
    // Parley stores responses itself when clients ask it to.
    store: false,
    ...present({
      ...Object.fromEntries(passed.map((name) => [name, request[name]])),
      ...toolFields(request),
      max_output_tokens: most ?? older,
      reasoning: effort === undefined || effort === null ? undefined : { effort },
      text: textOf(request),
    }),
    ...(request.logprobs === true && present({ include: [LOGPROBS], top_logprobs: request.top_logprobs })),
    ...(isStream && { stream: true }),
  };
}
