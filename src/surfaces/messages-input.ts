/** Translates messages of the Messages API to messages of chat completions. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type { MessagesInput } from '../../schemas/messages-requests.ts';
import { jsonOf } from '../bodies/sealed.ts';
import { writeInSlices } from '../bodies/write-in-slices.ts';
import { addStep } from '../engines/message-steps.ts';
import { detailOf, MESSAGES_FORMAT, readSeal } from '../engines/reasoning-details.ts';
import { moveFiles } from '../engines/tool-files.ts';
import type { JsonObject } from '../engines/upstream/json.ts';
import {
  type Content,
  contentOf,
  type InputBlock,
  joined,
  type Part,
  partsOf,
  refused,
  refusePdfs,
  required,
  textsOf,
} from './messages-blocks.ts';

export type Message = { role: 'system' | 'user' | 'assistant' | 'tool' } & JsonObject;
type InputBody = Static<typeof MessagesInput>;

/** The signature of thinking that its model did not sign. It is never verified. */
export const UNSIGNED = 'parley';

const blocksIn = (content: InputBody['content']): InputBlock[] =>
  typeof content === 'string' ? [] : (content as InputBlock[]);

function systemMessage(content: Content, path: string): Message[] {
  const text = joined(textsOf(partsOf(content, path)));
  return text === '' ? [] : [{ role: 'system', content: text }];
}

/** The text of a tool result. A tool message has no member for the failure of a tool. */
function resultText(texts: readonly string[], isError: boolean | null | undefined): string {
  const text = joined(texts);
  return isError ? `Error: ${text}` : text;
}

/**
 * Tool messages come first, because they must follow the calls. They can only contain text, so images and documents
 * follow in the user's message.
 */
function userMessages({ content }: InputBody, path: string): Message[] {
  const tools: Message[] = [];
  const files: Part[] = [];
  for (const [index, block] of blocksIn(content).entries()) {
    if (block.type !== 'tool_result') continue;
    const place = `${path}.${index}`;
    const id = required(block.tool_use_id, `${place}.tool_use_id`);
    const parts = partsOf(block.content as Content, `${place}.content`);
    const content = resultText(textsOf(parts), block.is_error);
    const result: Message = { role: 'tool', tool_call_id: id, content };
    tools.push(result);
    const shown = block.is_error
      ? [{ type: 'text', text: content }, ...parts.filter(({ type }) => type !== 'text')]
      : parts;
    files.push(...moveFiles(result, id, shown));
  }
  const parts = [...files, ...partsOf(content, path)];
  return parts.length === 0 ? tools : [...tools, { role: 'user', content: contentOf(parts) }];
}

/** Reasoning that only its own model can read or verify. */
function sealedOf({ data, signature, thinking = '', type }: InputBlock & { data?: unknown }): JsonObject[] {
  const isRedacted = type === 'redacted_thinking';
  const text = isRedacted ? data : signature;
  if (typeof text !== 'string' || text === '' || text === UNSIGNED) return [];
  if (type !== 'thinking' && !isRedacted) return [];
  return [
    detailOf({ text: thinking, seal: readSeal(text, MESSAGES_FORMAT, isRedacted ? 'data' : 'signature') }),
  ];
}

function callOf({ id, input, name }: InputBlock, place: string): JsonObject {
  const called = required(name, `${place}.name`);
  return {
    id: required(id, `${place}.id`),
    type: 'function',
    function: { name: called, arguments: jsonOf(input ?? {}) },
  };
}

/** The message members that a block contributes. Blocks of other kinds contribute nothing. */
function stepsIn(block: InputBlock, place: string): JsonObject[] {
  if (block.type === 'tool_use') return [{ tool_calls: [callOf(block, place)] }];
  const sealed = sealedOf(block);
  if (sealed.length > 0) return [{ reasoning_details: sealed }];
  return textsOf(partsOf([block], place)).map((content) => ({ content }));
}

const listsIn = (steps: readonly JsonObject[], field: string): JsonObject[] =>
  steps.flatMap((step) => (step[field] ?? []) as JsonObject[]);

function assistantMessages({ content }: InputBody, path: string): Message[] {
  const texts = textsOf(partsOf(content, path));
  const blocks = blocksIn(content);
  const steps = blocks.flatMap((block, index) => stepsIn(block, `${path}.${index}`));
  const calls = listsIn(steps, 'tool_calls');
  if (texts.length + calls.length === 0) return [];
  const thoughts = blocks.flatMap(({ thinking, type }) =>
    type === 'thinking' && thinking ? [thinking] : [],
  );
  const sealed = listsIn(steps, 'reasoning_details');
  const message: Message = {
    role: 'assistant',
    content: texts.length === 0 ? null : joined(texts),
    ...(thoughts.length > 0 && { reasoning_content: joined(thoughts) }),
    ...(sealed.length > 0 && { reasoning_details: sealed }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  for (const step of steps) addStep(message, step);
  return [message];
}

function translated(message: InputBody, path: string): Message[] {
  if (message.role === 'system') return systemMessage(message.content, path);
  return message.role === 'user' ? userMessages(message, path) : assistantMessages(message, path);
}

/** Many models accept only one system message, at the beginning. */
function withOneBeginning(messages: readonly Message[]): Message[] {
  const end = messages.findIndex(({ role }) => role !== 'system');
  const beginning = messages.slice(0, end);
  if (beginning.length < 2) return [...messages];
  const content = joined(beginning.map((message) => String(message.content)));
  return [{ role: 'system', content }, ...messages.slice(end)];
}

/** Writes large tool inputs over several turns of the event loop, before `messagesOf` needs them as text. */
export async function writeToolInputs(messages: readonly InputBody[]): Promise<void> {
  for (const { content } of messages)
    for (const { input } of blocksIn(content))
      if (typeof input === 'object' && input !== null) await writeInSlices(input);
}

/** Throws ApiError `invalidRequest` for PDF documents, which the built-in engine cannot read. */
export function refuseFiles(messages: readonly InputBody[]): void {
  for (const [index, { content }] of messages.entries()) refusePdfs(content, `messages.${index}.content`);
}

/** @throws ApiError `invalidRequest` with the path of the block */
export function messagesOf(system: Content, messages: readonly InputBody[]): Message[] {
  const all = [
    ...systemMessage(system, 'system'),
    ...messages.flatMap((message, index) => translated(message, `messages.${index}.content`)),
  ];
  if (all.every(({ role }) => role === 'system'))
    throw refused('messages', 'must contain a message other than system instructions.');
  return withOneBeginning(all);
}
