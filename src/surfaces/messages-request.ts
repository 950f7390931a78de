/** Translates requests of Anthropic's Messages API to chat completions. Contract section 14. */
import { createHash } from 'node:crypto';
import type { Static } from '@sinclair/typebox';
import type { MessagesCountRequest, MessagesRequest } from '../../schemas/messages-requests.ts';
import type { CompletionInput } from '../engines/types.ts';
import { isObject, type JsonObject, present } from '../engines/upstream/json.ts';
import { ApiError } from '../errors.ts';
import { messagesOf } from './messages-input.ts';
import { toolFields } from './messages-tools.ts';

export type MessagesBody = Static<typeof MessagesRequest>;
/** The members that both operations accept. */
export type Conversation = Static<typeof MessagesCountRequest>;

/** Fields that Parley supports, or whose absence does not change a reply. */
export const messagesFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'top_p', 'top_k'],
  ...['stop_sequences', 'tools', 'tool_choice', 'thinking', 'metadata', 'output_config', 'output_format'],
  // Anthropic's handling of prompts. Claude Code always sends the second field.
  ...['cache_control', 'context_management'],
]);

function dropNullsOf(fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) if (value === null) delete fields[name];
}

/** Removes null fields of the body and its tools. Some clients send null for fields that are not set. */
export function dropNulls(body: JsonObject): void {
  dropNullsOf(body);
  if (Array.isArray(body.tools))
    for (const tool of body.tools as unknown[]) if (isObject(tool)) dropNullsOf(tool);
}

const MEDIUM_TOKENS = 4096;
const HIGH_TOKENS = 16_384;

const efforts: ReadonlySet<string | undefined> = new Set(['low', 'medium', 'high', 'xhigh', 'max']);

/** Adaptive thinking leaves the effort to the model, as servers do by default. */
function effortOf({ output_config: config, thinking }: Conversation): string | undefined {
  if (thinking?.type === 'disabled') return undefined;
  const named = config?.effort ?? undefined;
  if (efforts.has(named)) return named;
  const { budget_tokens: budget, type } = thinking ?? {};
  if (type !== 'enabled' || budget === undefined) return undefined;
  if (budget < MEDIUM_TOKENS) return 'low';
  return budget < HIGH_TOKENS ? 'medium' : 'high';
}

function formatOf({ output_config: config, output_format: older }: Conversation): JsonObject | undefined {
  const format = config?.format ?? older;
  if (format?.type !== 'json_schema' || format.schema === undefined) return undefined;
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema } };
}

/** OpenAI rejects longer user names. Claude Code's are longer. */
const MAX_USER_LENGTH = 64;

function userOf({ metadata }: MessagesBody): string | undefined {
  const id = metadata?.user_id || undefined;
  if (id === undefined || id.length <= MAX_USER_LENGTH) return id;
  return createHash('sha256').update(id).digest('hex');
}

/** Rejects requests that would make the model ignore earlier messages. SDKs then send all of them. */
function refuseThread({ thread }: Conversation & { thread?: unknown }): void {
  if (thread === undefined || thread === null) return;
  throw new ApiError('invalidRequest', {
    message:
      'Message threads are not available here. Send the whole conversation in `messages`, without `thread`.',
    param: 'thread',
    unsupported: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

/**
 * The conversation without options for the reply, for counting its tokens.
 *
 * @param model - the resolved model
 * @throws ApiError `invalidRequest` with the path of the block or tool
 */
export function conversationInput(body: Conversation, model: string): CompletionInput {
  refuseThread(body);
  return {
    model,
    messages: messagesOf(body.system, body.messages) as CompletionInput['messages'],
    ...toolFields(body.tools, body.tool_choice),
    ...present({ reasoning_effort: effortOf(body), response_format: formatOf(body) }),
  };
}

/** The whole request. Parameters and errors are those of `conversationInput`. */
export function messagesInput(body: MessagesBody, model: string): CompletionInput {
  const { stop_sequences: stop } = body;
  return {
    ...conversationInput(body, model),
    max_completion_tokens: body.max_tokens,
    ...present({
      temperature: body.temperature,
      top_p: body.top_p,
      top_k: body.top_k,
      stop: stop?.length ? stop : undefined,
      user: userOf(body),
      stream: body.stream,
    }),
  };
}
