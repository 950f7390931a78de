/** Writes replies in the format of OpenAI's Responses API. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type {
  ModelResponse as ModelResponseSchema,
  ResponseItem as ResponseItemSchema,
  ResponsePart as ResponsePartSchema,
} from '../../schemas/responses.ts';
import { RESPONSES_FORMAT, writtenSeal } from '../engines/reasoning-details.ts';
import { responsesAnnotation } from '../engines/text-details.ts';
import type { AnswerTokens } from '../engines/upstream/usage.ts';
import type { AnswerBlock, AnswerBlocks } from './answer-blocks.ts';
import type { ResponseBody } from './response-request.ts';
import { customInputOf, type ResponseTools } from './response-tools.ts';

export type ModelResponse = Static<typeof ModelResponseSchema>;
export type ResponseItem = Static<typeof ResponseItemSchema>;
export type ResponsePart = Static<typeof ResponsePartSchema>;

/** The parts of a response that do not come from the model. */
export type ResponseContext = {
  /** The request ID, a UUID. */
  id: string;
  model: string;
  body: ResponseBody;
  tools: ResponseTools;
  createdAt: number;
};

const ID_PREFIX = 'resp_';
const hexOf = (id: string) => id.replaceAll('-', '');

export const responseId = (id: string): string => `${ID_PREFIX}${hexOf(id)}`;

const uuidOf = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** The UUID in a response ID; undefined if Parley did not create the ID. */
export function requestIdOf(id: string): string | undefined {
  const [, hex] = /^resp_([0-9a-f]{32})$/.exec(id) ?? [];
  return hex === undefined ? undefined : uuidOf(hex);
}

/** Parses an item's ID: the response, and the position in its output. */
export function parseItemId(id: string): { requestId: string; index: number } | undefined {
  const [, hex, index] = /^(?:msg|fc|ctc|rs)_([0-9a-f]{32})_(\d{1,5})$/.exec(id) ?? [];
  return hex === undefined ? undefined : { requestId: uuidOf(hex), index: Number(index) };
}

const prefixes = { text: 'msg', refusal: 'msg', reasoning: 'rs', tool: 'fc' } as const;

/** An item without its content, as it is when it begins. */
export function emptyItem({ body, id, tools }: ResponseContext, block: AnswerBlock): ResponseItem {
  const itemId = (prefix: string) => `${prefix}_${hexOf(id)}_${block.index}`;
  if (block.kind === 'reasoning')
    return { id: itemId('rs'), type: 'reasoning', summary: [], ...(!wantsSummary(body) && { content: [] }) };
  if (block.kind !== 'tool')
    return {
      id: itemId(prefixes[block.kind]),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      ...(block.phase !== undefined && { phase: block.phase }),
      content: [],
    };
  const { isCustom, name, namespace } = tools.called(block.name);
  const call = { call_id: block.callId, name, ...(namespace !== undefined && { namespace }) };
  return isCustom
    ? { id: itemId('ctc'), type: 'custom_tool_call', status: 'in_progress', ...call, input: '' }
    : { id: itemId('fc'), type: 'function_call', status: 'in_progress', ...call, arguments: '' };
}

export const wantsSummary = ({ reasoning }: ResponseBody): boolean => Boolean(reasoning?.summary);

/** The only part of a message or of reasoning, as it is when it begins. */
export function emptyPart({ kind }: AnswerBlock, isSummary = false): ResponsePart {
  if (kind === 'refusal') return { type: 'refusal', refusal: '' };
  if (kind === 'reasoning') return { type: isSummary ? 'summary_text' : 'reasoning_text', text: '' };
  return { type: 'output_text', text: '', annotations: [], logprobs: [] };
}

export function wholePart(block: AnswerBlock, isSummary = false): ResponsePart {
  const { kind, notes, text } = block;
  const part = emptyPart(block, isSummary);
  if (kind === 'refusal') return { ...part, refusal: text };
  if (notes === undefined) return { ...part, text };
  const annotations = notes.annotations.map((one) => responsesAnnotation(one, notes.start));
  return { ...part, text, annotations, logprobs: notes.logprobs };
}

export function wholeItem(context: ResponseContext, block: AnswerBlock): ResponseItem {
  const item = emptyItem(context, block);
  if (item.type === 'custom_tool_call')
    return { ...item, status: 'completed', input: customInputOf(block.text) };
  if (item.type === 'function_call') return { ...item, status: 'completed', arguments: block.text || '{}' };
  if (item.type === 'message') return { ...item, status: 'completed', content: [wholePart(block)] };
  const isSummary = wantsSummary(context.body);
  return {
    ...item,
    ...(block.text !== '' && { [isSummary ? 'summary' : 'content']: [wholePart(block, isSummary)] }),
    ...(block.seal && { encrypted_content: writtenSeal(block.seal, RESPONSES_FORMAT) }),
  };
}

/** A response that has just begun, without output. */
export function begunResponse({ body, createdAt, id, model, tools }: ResponseContext): ModelResponse {
  return {
    id: responseId(id),
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls !== false,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    store: body.store ?? true,
    temperature: body.temperature ?? null,
    text: { format: { type: 'text' }, ...body.text },
    tool_choice: body.tool_choice ?? 'auto',
    tools: [...tools.offered] as ModelResponse['tools'],
    top_p: body.top_p ?? null,
    truncation: 'disabled',
    usage: null,
  };
}

const incomplete = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
} as const;

function statusOf({ isStopped }: AnswerBlocks, reason: string | undefined): ModelResponse['status'] {
  if (isStopped) return 'cancelled';
  return reason === undefined ? 'completed' : 'incomplete';
}

/** A response that has ended. Its last item is incomplete if a limit or a stop interrupted it. */
export function endedResponse(
  context: ResponseContext,
  blocks: AnswerBlocks,
  { inputTokens, outputTokens }: AnswerTokens,
): ModelResponse {
  const { cachedTokens, finishReason, reasoningTokens } = blocks;
  const reason = incomplete[finishReason as keyof typeof incomplete];
  const output = blocks.all.map((block) => wholeItem(context, block));
  const last = output.at(-1);
  if ((reason !== undefined || blocks.isStopped) && last?.status !== undefined) last.status = 'incomplete';
  return {
    ...begunResponse(context),
    status: statusOf(blocks, reason),
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  };
}
