/**
 * What reaches an upstream of the client's own API: the request as it was sent, without what this service does itself,
 * and without blocks that it does not check. Contract sections 14 and 15.
 */
import { MESSAGES_FORMAT, RESPONSES_FORMAT, readSeal } from '../engines/reasoning-details.ts';
import type { SaidRequest } from '../engines/types.ts';
import { isObject, type JsonObject, stringIn } from '../engines/upstream/json.ts';
import { UNSIGNED } from './messages-input.ts';
import { type Conversation, messagesFields } from './messages-request.ts';
import type { ResponseBody } from './response-request.ts';
import type { ResponseTools } from './response-tools.ts';

const only = (body: JsonObject, fields: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => fields.has(name) && value !== undefined));

const blockTypes: ReadonlySet<unknown> = new Set([
  ...['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'],
]);

/** Whether the upstream can read its own reasoning: it rejects what another model wrote. */
function isReadable({ data, signature, type }: JsonObject): boolean {
  if (type !== 'thinking' && type !== 'redacted_thinking') return true;
  const seal = stringIn(type === 'thinking' ? signature : data);
  return (
    seal !== '' &&
    seal !== UNSIGNED &&
    readSeal(seal, MESSAGES_FORMAT, 'signature').format === MESSAGES_FORMAT
  );
}

function blocks(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return (content as unknown[])
    .filter((block) => isObject(block) && blockTypes.has(block.type) && isReadable(block))
    .map((block) => {
      const { content: inner, type } = block as JsonObject;
      return type === 'tool_result' ? { ...(block as JsonObject), content: blocks(inner) } : block;
    });
}

/** The longest list of features that is passed on. */
const BETAS = /^[\w.,\s-]{1,1000}$/;
/** Costs more for each token. */
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

/** @param betas - `anthropic-beta`, which allows fields of the body */
export function messagesSaid(body: Conversation, betas: string | string[] | undefined): SaidRequest {
  return {
    language: 'anthropic',
    body: () => ({
      ...only(body as JsonObject, messagesFields),
      ...(body.system !== undefined && { system: blocks(body.system) }),
      messages: body.messages.map((message) => ({ ...message, content: blocks(message.content) })),
    }),
    headers: betasOf(betas),
  };
}

const responseFields: ReadonlySet<string> = new Set([
  ...['instructions', 'temperature', 'top_p', 'max_output_tokens', 'parallel_tool_calls', 'tool_choice'],
  ...['reasoning', 'text', 'user', 'safety_identifier', 'prompt_cache_key', 'truncation'],
]);

const itemTypes: ReadonlySet<unknown> = new Set([
  ...['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
]);
const partTypes: ReadonlySet<unknown> = new Set([
  ...['input_text', 'output_text', 'text', 'refusal', 'input_image', 'input_file', 'input_audio'],
]);

const parts = (content: unknown): unknown =>
  Array.isArray(content)
    ? (content as unknown[]).filter((part) => isObject(part) && partTypes.has(part.type))
    : content;

/** An item without its ID, which names nothing that the upstream has stored. */
function itemOf(item: unknown): JsonObject[] {
  if (!isObject(item)) return [];
  const { id: _id, status: _status, ...rest } = item;
  const { type = 'message' } = rest;
  if (type === 'reasoning') {
    const seal = stringIn(rest.encrypted_content);
    const isOwn = seal !== '' && readSeal(seal, RESPONSES_FORMAT, 'data').format === RESPONSES_FORMAT;
    return isOwn ? [{ summary: [], ...rest }] : [];
  }
  if (!itemTypes.has(type)) return [];
  if (type === 'message') return [{ ...rest, content: parts(rest.content) }];
  return [{ ...rest, ...('output' in rest && { output: parts(rest.output) }) }];
}

const ENCRYPTED = 'reasoning.encrypted_content';

/** @param items - the whole conversation, including stored responses that precede the input */
export function responseSaid(
  body: ResponseBody,
  items: readonly unknown[],
  tools: ResponseTools,
): SaidRequest {
  return {
    language: 'responses',
    body() {
      const { tool_choice: choice, ...fields } = only(body, responseFields);
      const isChosen = choice !== undefined && tools.choice(choice) !== undefined;
      const asksForSeals = Array.isArray(body.include) && (body.include as unknown[]).includes(ENCRYPTED);
      return {
        ...fields,
        input: items.flatMap(itemOf),
        ...(tools.offered.length > 0 && { tools: tools.offered }),
        ...(isChosen && { tool_choice: choice }),
        ...(asksForSeals && { include: [ENCRYPTED] }),
      };
    },
  };
}
