/** Translates requests to Anthropic's Messages API. Contract section 15. */

import { stepsOf } from '../message-steps.ts';
import { MESSAGES_FORMAT, sealedReasoning } from '../reasoning-details.ts';
import { reminderOf } from '../system-messages.ts';
import { ownContent, resultContent } from '../tool-files.ts';
import { plainCallId } from '../tool-names.ts';
import { isObject, type JsonObject, parseJson, present, stringIn } from '../upstream/json.ts';
import type { ChatQuery } from './dialect.ts';
import {
  callsOf,
  cannotExpress,
  dataUrlOf,
  type Part,
  partsOf,
  readable,
  textsOf,
  toolsOf,
} from './parts.ts';

type Block = JsonObject & { type: string };
type Turn = { role: 'user' | 'assistant'; content: Block[] };

/** Default for a field that the API requires. Enough for a long reply, and every current model accepts it. */
const MAX_TOKENS = 8192;

/** Anthropic rejects text without a visible character. */
const textBlocks = (text: string): Block[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function documentOf(url: string, title: string | undefined, path: string): Block {
  const known = dataUrlOf(url);
  if (known?.type === 'application/pdf')
    return {
      type: 'document',
      source: { type: 'base64', media_type: known.type, data: known.data },
      ...(title !== undefined && { title }),
    };
  throw cannotExpress(path, 'must be a PDF document as a data URL.');
}

function blocksOf(part: Part, path: string): Block[] {
  if (part.type === 'text') return textBlocks(part.text);
  if (part.type === 'file') return [documentOf(part.data, part.filename, path)];
  if (part.type === 'audio') throw cannotExpress(path, 'is audio, which this model does not accept.');
  const known = dataUrlOf(part.url);
  const source =
    known === undefined
      ? { type: 'url', url: part.url }
      : { type: 'base64', media_type: known.type, data: known.data };
  return [{ type: 'image', source }];
}

/** The arguments of a call. Clients may send back invalid JSON that a model wrote. */
function inputOf(text: string): JsonObject {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}

function thinkingOf(message: JsonObject): Block[] {
  return sealedReasoning(message)
    .filter(({ seal }) => seal.format === MESSAGES_FORMAT)
    .map(({ seal: { kind, value }, text }) =>
      kind === 'data'
        ? { type: 'redacted_thinking', data: value }
        : { type: 'thinking', thinking: text, signature: value },
    );
}

function stepBlocks(step: JsonObject, path: string): Block[] {
  const { content, refusal } = step;
  return [
    ...thinkingOf(step),
    ...partsOf(content, `${path}.content`).flatMap((part, index) =>
      blocksOf(part, `${path}.content.${index}`),
    ),
    ...(typeof refusal === 'string' ? textBlocks(refusal) : []),
    ...callsOf(step, path).map(({ arguments: given, id, name }) => ({
      type: 'tool_use',
      id: plainCallId(id),
      name,
      input: inputOf(given),
    })),
  ];
}

function turnOf(message: JsonObject, path: string): Turn {
  const { content, role, tool_call_id: id } = message;
  const place = `${path}.content`;
  if (role === 'assistant')
    return { role, content: stepsOf(message).flatMap((step) => stepBlocks(step, path)) };
  if (role === 'tool') {
    const parts = partsOf(resultContent(message), place);
    const blocks = parts.every(({ type }) => type === 'text')
      ? textsOf(content, place)
      : parts.flatMap((part, index) => blocksOf(part, `${place}.${index}`));
    return {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: plainCallId(stringIn(id)), content: blocks }],
    };
  }
  if (role !== 'user') throw cannotExpress(`${path}.role`, 'must not be `function`. Use `tool`.');
  const blocks = partsOf(ownContent(message), place).flatMap((part, index) =>
    blocksOf(part, `${place}.${index}`),
  );
  return { role, content: blocks };
}

/** The instructions at the beginning, which have a separate field, and the turns, which alternate. */
function conversationOf(messages: readonly unknown[]): { system: string; messages: Turn[] } {
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`;
    const { content, role } = readable(message, path) as JsonObject;
    const isSystem = role === 'system' || role === 'developer';
    const text = isSystem ? textsOf(content, `${path}.content`) : '';
    if (isSystem && (turns.length === 0 || text === '')) {
      system.push(text);
      continue;
    }
    const turn: Turn = isSystem
      ? { role: 'user', content: textBlocks(reminderOf(text)) }
      : turnOf(message as JsonObject, path);
    const last = turns.at(-1);
    if (last?.role === turn.role) last.content.push(...turn.content);
    else if (turn.content.length > 0) turns.push(turn);
  }
  return { system: system.filter((text) => text !== '').join('\n\n'), messages: turns };
}

/** Anthropic has no counterpart of OpenAI's other efforts. */
const efforts: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

function thinkingFields(effort: unknown): { thinking?: { type: string }; effort?: string } {
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const known = typeof effort === 'string' && Object.hasOwn(efforts, effort) ? efforts[effort] : undefined;
  return known === undefined ? {} : { thinking: { type: 'adaptive' }, effort: known };
}

function choiceOf(choice: unknown, isParallel: boolean): JsonObject | undefined {
  const single = isParallel ? {} : { disable_parallel_tool_use: true };
  if (isObject(choice) && isObject(choice.function))
    return { type: 'tool', name: choice.function.name, ...single };
  if (choice === 'none') return { type: 'none' };
  if (choice === 'required') return { type: 'any', ...single };
  return isParallel ? undefined : { type: 'auto', ...single };
}

function toolFields(input: JsonObject): JsonObject {
  const tools = toolsOf(input).map(({ description, name, parameters, strict }) =>
    present({
      ...{ name, description, strict },
      input_schema: parameters ?? { type: 'object', properties: {} },
    }),
  );
  if (tools.length === 0) return {};
  return { tools, tool_choice: choiceOf(input.tool_choice, input.parallel_tool_calls !== false) };
}

const schemaOf = (format: unknown): unknown =>
  isObject(format) && format.type === 'json_schema' && isObject(format.json_schema)
    ? format.json_schema.schema
    : undefined;

/** The sampling fields that Anthropic accepts. With thinking, it accepts none. */
function samplingOf({ temperature, top_k, top_p }: JsonObject, thinks: boolean): JsonObject {
  if (thinks) return {};
  return {
    temperature: typeof temperature === 'number' ? Math.min(temperature, 1) : undefined,
    top_p,
    top_k,
  };
}

/** Whether the model must call a tool. If so, it cannot think first. */
const forcesTool = ({ tool_choice: choice }: JsonObject): boolean =>
  isObject(choice) && (choice.type === 'any' || choice.type === 'tool');

/** The fields that affect both the reply and the token count. */
function contextOf(input: JsonObject, model: string): JsonObject {
  const { effort, thinking } = thinkingFields(input.reasoning_effort);
  const schema = schemaOf(input.response_format);
  const config = present({ effort, format: schema && { type: 'json_schema', schema } });
  const { messages, system } = conversationOf(input.messages as unknown[]);
  const tools = toolFields(input);
  return present({
    model,
    system: system || undefined,
    messages,
    ...tools,
    thinking: forcesTool(tools) && thinking?.type === 'adaptive' ? undefined : thinking,
    output_config: Object.keys(config).length > 0 ? config : undefined,
  });
}

/** @throws ApiError `invalidRequest` that names the part that the API cannot express */
export function messagesBody({ input, isStream, maxOutputTokens, model }: ChatQuery): JsonObject {
  const request = input as JsonObject;
  const context = contextOf(request, model);
  const { max_completion_tokens: most, max_tokens: older, stop, user } = request;
  const thinks = isObject(context.thinking) && context.thinking.type !== 'disabled';
  return {
    ...context,
    max_tokens: most ?? older ?? maxOutputTokens ?? MAX_TOKENS,
    ...present({
      ...samplingOf(request, thinks),
      stop_sequences: typeof stop === 'string' ? [stop] : stop,
      metadata: typeof user === 'string' ? { user_id: user } : undefined,
    }),
    ...(isStream && { stream: true }),
  };
}

export const countBody = ({ input, model }: ChatQuery): JsonObject => contextOf(input as JsonObject, model);
