/**
 * Builds the request for an upstream of the client's own API: the client's request, without features that Parley
 * handles itself, and without blocks and sources that the translation does not read. Contract sections 14 and 15.
 */
import { MESSAGES_FORMAT, RESPONSES_FORMAT, readSeal } from '../engines/reasoning-details.ts';
import { LOGPROBS } from '../engines/text-details.ts';
import type { OriginalRequest } from '../engines/types.ts';
import { isObject, type JsonObject, present, stringIn } from '../engines/upstream/json.ts';
import { UNSIGNED } from './messages-input.ts';
import { type Conversation, messagesFields } from './messages-request.ts';
import { includes, type ResponseBody } from './response-request.ts';
import type { ResponseTools } from './response-tools.ts';

const only = (body: JsonObject, fields: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => fields.has(name) && value !== undefined));

/** The kinds of blocks that the translation reads, by role. */
const blockTypes = {
  system: new Set<unknown>(['text']),
  user: new Set<unknown>(['text', 'image', 'document', 'search_result', 'tool_result']),
  assistant: new Set<unknown>(['text', 'tool_use', 'thinking', 'redacted_thinking']),
};
const resultTypes: ReadonlySet<unknown> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'tool_reference',
]);

/** Whether the upstream can read the reasoning. It rejects reasoning of other models. */
function isReadable({ data, signature, type }: JsonObject): boolean {
  if (type !== 'thinking' && type !== 'redacted_thinking') return true;
  const seal = stringIn(type === 'thinking' ? signature : data);
  return (
    seal !== '' &&
    seal !== UNSIGNED &&
    readSeal(seal, MESSAGES_FORMAT, 'signature').format === MESSAGES_FORMAT
  );
}

/** Keeps only members that the translation reads. A file ID would refer to one of the operator's stored files. */
function sourceOf(source: JsonObject): JsonObject {
  const { content, data, media_type, type, url } = source;
  if (type === 'url') return { type, url };
  if (type === 'content') return { type, content: blocks(content, resultTypes) };
  return present({ type, media_type, data });
}

function blockOf(block: JsonObject): JsonObject {
  if (block.type === 'tool_result') return { ...block, content: blocks(block.content, resultTypes) };
  if (!('source' in block)) return block;
  const { source, ...rest } = block;
  if (block.type === 'search_result') return { ...block, content: blocks(block.content, blockTypes.system) };
  return isObject(source) ? { ...rest, source: sourceOf(source) } : rest;
}

const blocks = (content: unknown, types: ReadonlySet<unknown>): unknown =>
  Array.isArray(content)
    ? (content as unknown[])
        .filter(isObject)
        .filter((block) => types.has(block.type) && isReadable(block))
        .map(blockOf)
    : content;

/** Whether a turn has no visible content. Anthropic rejects text without a visible character. */
const isEmpty = (content: unknown): boolean =>
  typeof content === 'string'
    ? content.trim() === ''
    : Array.isArray(content) &&
      (content as JsonObject[]).every(({ text, type }) => type === 'text' && stringIn(text).trim() === '');

/** The longest list of features that Parley forwards. */
const BETAS = /^[\w.,\s-]{1,1000}$/;
/** Whether the feature costs more per token. */
const isExpensive = (beta: string) => beta.startsWith('context-1m');

function betasOf(header: string | string[] | undefined): Record<string, string> {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  if (!BETAS.test(text)) return {};
  const betas = text
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '' && !isExpensive(beta));
  return betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') };
}

/** @param betas - the `anthropic-beta` header, which enables fields of the body */
export function originalMessages(body: Conversation, betas: string | string[] | undefined): OriginalRequest {
  return {
    language: 'anthropic',
    body: () => ({
      ...only(body as JsonObject, messagesFields),
      ...(body.system !== undefined && { system: blocks(body.system, blockTypes.system) }),
      messages: body.messages
        .map((message) => ({ ...message, content: blocks(message.content, blockTypes[message.role]) }))
        .filter(({ content }) => !isEmpty(content)),
    }),
    headers: betasOf(betas),
  };
}

const responseFields: ReadonlySet<string> = new Set([
  ...['instructions', 'temperature', 'top_p', 'max_output_tokens', 'parallel_tool_calls', 'tool_choice'],
  ...['reasoning', 'text', 'user', 'safety_identifier', 'prompt_cache_key'],
  ...['prompt_cache_retention', 'truncation', 'top_logprobs'],
]);

const itemTypes: ReadonlySet<unknown> = new Set([
  ...['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
]);
/** The members of each part that the translation reads. Others refer to stored files or URLs of files. */
const partMembers: Readonly<Record<string, readonly string[]>> = {
  input_text: ['text'],
  output_text: ['text', 'annotations', 'logprobs'],
  text: ['text'],
  refusal: ['refusal'],
  input_image: ['image_url', 'detail'],
  input_file: ['file_data', 'filename'],
  input_audio: ['input_audio'],
};

function partOf(part: unknown): JsonObject[] {
  if (!isObject(part) || typeof part.type !== 'string' || !Object.hasOwn(partMembers, part.type)) return [];
  return [only(part, new Set(['type', ...(partMembers[part.type] ?? [])]))];
}

const parts = (content: unknown): unknown =>
  Array.isArray(content) ? (content as unknown[]).flatMap(partOf) : content;

/** Removes the item's ID, because the upstream has not stored it. */
function itemOf(item: unknown): JsonObject[] {
  if (!isObject(item)) return [];
  const { id: _id, status: _status, type: given, ...members } = item;
  const type = given ?? 'message';
  const rest: JsonObject = typeof given === 'string' ? { type: given, ...members } : members;
  if (type === 'reasoning') {
    const seal = stringIn(rest.encrypted_content);
    const isOwn = seal !== '' && readSeal(seal, RESPONSES_FORMAT, 'data').format === RESPONSES_FORMAT;
    return isOwn ? [{ summary: [], ...rest }] : [];
  }
  if (!itemTypes.has(type)) return [];
  if (type === 'message') return [{ ...rest, content: parts(rest.content) }];
  return [{ ...rest, ...('output' in rest && { output: parts(rest.output) }) }];
}

/** Values that `include` may have. Other values belong to tools that run on the upstream. */
const includable = ['reasoning.encrypted_content', LOGPROBS];

/** @param items - the whole conversation, including stored responses before the input */
export function originalResponse(
  body: ResponseBody,
  items: readonly unknown[],
  tools: ResponseTools,
): OriginalRequest {
  return {
    language: 'responses',
    body() {
      const { tool_choice: choice, ...fields } = only(body, responseFields);
      const chosen = tools.passedChoice(choice);
      const include = includable.filter((what) => includes(body, what));
      return {
        ...fields,
        input: items.flatMap(itemOf),
        ...(tools.offered.length > 0 && { tools: tools.offered }),
        ...(chosen !== undefined && { tool_choice: chosen }),
        ...(include.length > 0 && { include }),
      };
    },
  };
}

/** The same request without members about reasoning, for a model that rejects them. */
export const withoutEffort = (original: OriginalRequest): OriginalRequest => ({
  ...original,
  body() {
    const { context_management: _edits, include, output_config: config, ...body } = original.body();
    const { reasoning: _effort, thinking: _thinking, ...others } = body;
    const rest = includes({ include }, LOGPROBS) ? { ...others, include: [LOGPROBS] } : others;
    if (!isObject(config)) return rest;
    const { effort: _also, ...kept } = config;
    return Object.keys(kept).length === 0 ? rest : { ...rest, output_config: kept };
  },
});
