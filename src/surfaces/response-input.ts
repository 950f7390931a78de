/** Translates input items of the Responses API to messages. Contract section 14. */

import { addStep } from '../engines/message-steps.ts';
import { detailOf, RESPONSES_FORMAT, readSeal } from '../engines/reasoning-details.ts';
import { moveFiles } from '../engines/tool-files.ts';
import { flatName } from '../engines/tool-names.ts';
import { isObject, type JsonObject, stringIn } from '../engines/upstream/json.ts';
import { ApiError } from '../errors.ts';

export type Message = { role: 'system' | 'user' | 'assistant' | 'tool' } & JsonObject;
type Part = JsonObject & { type: string };

const roles: Readonly<Record<string, Message['role']>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  // Few servers support OpenAI's newer name.
  developer: 'system',
};

function refused(path: string, problem: string): ApiError {
  return new ApiError('invalidRequest', { message: `In the body, \`${path}\` ${problem}`, param: path });
}

function imagePart({ detail, image_url: url }: JsonObject, path: string): Part {
  if (typeof url !== 'string')
    throw refused(path, 'must have an `image_url`: this service stores no files. Send an https or data URL.');
  const known = detail === 'original' ? 'high' : detail;
  return { type: 'image_url', image_url: { url, ...(typeof known === 'string' && { detail: known }) } };
}

function filePart({ file_data: data, filename }: JsonObject, path: string): Part {
  if (typeof data !== 'string')
    throw refused(path, 'must have `file_data`: this service neither stores nor fetches files.');
  return { type: 'file', file: { file_data: data, ...(typeof filename === 'string' && { filename }) } };
}

/** A part of a message or of a tool's output. Undefined if its kind is unknown. */
function partOf(part: unknown, path: string): Part | undefined {
  if (typeof part === 'string') return { type: 'text', text: part };
  if (!isObject(part)) throw refused(path, 'must be an object.');
  const { type } = part;
  if (type === 'input_text' || type === 'output_text' || type === 'text')
    return { type: 'text', text: stringIn(part.text) };
  if (type === 'refusal') return { type: 'text', text: stringIn(part.refusal) };
  if (type === 'input_image') return imagePart(part, path);
  if (type === 'input_file') return filePart(part, path);
  if (type === 'input_audio') return { type, input_audio: part.input_audio };
  return undefined;
}

function partsOf(content: unknown, path: string): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) throw refused(path, 'must be a string or a list of parts.');
  return content.flatMap((part, index) => partOf(part, `${path}.${index}`) ?? []);
}

/** Returns a string if all parts are text, because every server accepts strings. */
const contentOf = (parts: readonly Part[]): string | Part[] =>
  parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => text).join('') : [...parts];

const listOf = (content: unknown): Part[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Part[]);

/** Adds text to a message that may already have text before its calls. Results must directly follow the calls. */
function append(message: Message, content: string | Part[]): void {
  const { content: before } = message;
  if (before === null) message.content = content;
  else if (typeof before === 'string' && typeof content === 'string')
    message.content = `${before}\n\n${content}`;
  else {
    const parts = listOf(before);
    for (const part of listOf(content)) parts.push(part);
    message.content = parts;
  }
}

/** The text of a reasoning item: its content, or its summary if it has none. */
function reasoningOf({ content, summary }: JsonObject): string {
  const texts = (list: unknown) =>
    Array.isArray(list) ? list.flatMap((part) => (isObject(part) ? stringIn(part.text) : [])) : [];
  const own = texts(content);
  return (own.length > 0 ? own : texts(summary)).join('\n\n');
}

/** Reasoning that only its own model can read. */
function sealedOf(item: JsonObject): JsonObject[] {
  const text = stringIn(item.encrypted_content);
  if (text === '') return [];
  return [detailOf({ text: reasoningOf(item), seal: readSeal(text, RESPONSES_FORMAT, 'data') })];
}

class Conversation {
  readonly messages: Message[] = [];
  /** Files of the last tool messages, for the user message that follows. */
  #files: Part[] = [];
  #reasoning: string[] = [];
  #sealed: JsonObject[] = [];

  add(item: JsonObject, path: string): void {
    const type = item.type ?? 'message';
    if (type === 'message') this.#message(item, path);
    else if (type === 'function_call' || type === 'custom_tool_call') this.#call(item, path);
    else if (type === 'function_call_output' || type === 'custom_tool_call_output') this.#result(item, path);
    else if (type === 'reasoning') this.#think(item);
  }

  /** Consecutive items belong to the same turn. */
  #think(item: JsonObject): void {
    const text = reasoningOf(item);
    if (text !== '') this.#reasoning.push(text);
    this.#sealed.push(...sealedOf(item));
  }

  #forget(): void {
    this.#reasoning = [];
    this.#sealed = [];
  }

  end(): Message[] {
    this.#flush();
    return this.messages;
  }

  #flush(): void {
    if (this.#files.length > 0) this.messages.push({ role: 'user', content: this.#takeFiles() });
  }

  #takeFiles(): Part[] {
    const files = this.#files;
    this.#files = [];
    return files;
  }

  #message({ content, role }: JsonObject, path: string): void {
    const known = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined;
    if (known === undefined) throw refused(`${path}.role`, 'must be user, assistant, system, or developer.');
    const parts = partsOf(content, `${path}.content`);
    const translated = contentOf(known === 'user' ? [...this.#takeFiles(), ...parts] : parts);
    this.#flush();
    if (known === 'assistant') {
      const message = this.#assistant(true);
      append(message, translated);
      addStep(message, { content: translated });
    } else {
      this.#forget();
      const [first] = this.messages;
      // Many models accept only one system message, at the beginning.
      if (
        known === 'system' &&
        this.messages.length === 1 &&
        first?.role === 'system' &&
        typeof translated === 'string'
      )
        first.content = `${first.content}\n\n${translated}`;
      else this.messages.push({ role: known, content: translated });
    }
  }

  /** The last message if it is an open assistant message, otherwise a new one. Receives the reasoning before it. */
  #assistant(isText: boolean): Message {
    const last = this.messages.at(-1);
    const isOpen =
      last?.role === 'assistant' && (!isText || last.content === null || last.tool_calls !== undefined);
    const message: Message = isOpen ? last : { role: 'assistant', content: null };
    if (!isOpen) this.messages.push(message);
    const reasoning = this.#reasoning.join('\n\n');
    const { reasoning_content: before } = message;
    if (reasoning !== '')
      message.reasoning_content = before === undefined ? reasoning : `${before}\n\n${reasoning}`;
    if (this.#sealed.length > 0) {
      const details = (message.reasoning_details ?? []) as JsonObject[];
      for (const one of this.#sealed) details.push(one);
      message.reasoning_details = details;
      addStep(message, { reasoning_details: this.#sealed });
    }
    this.#forget();
    return message;
  }

  #call({ arguments: given, call_id: id, input, name, namespace, type }: JsonObject, path: string): void {
    if (typeof id !== 'string' || typeof name !== 'string')
      throw refused(path, 'must have a `call_id` and a `name`.');
    this.#flush();
    const message = this.#assistant(false);
    message.tool_calls ??= [];
    const text = type === 'custom_tool_call' ? JSON.stringify({ input: stringIn(input) }) : stringIn(given);
    const call = {
      id,
      type: 'function',
      function: {
        name: flatName(name, typeof namespace === 'string' ? namespace : undefined),
        arguments: text,
      },
    };
    (message.tool_calls as JsonObject[]).push(call);
    addStep(message, { tool_calls: [call] });
  }

  #result({ call_id: id, output }: JsonObject, path: string): void {
    if (typeof id !== 'string') throw refused(path, 'must have a `call_id`.');
    const parts = partsOf(output, `${path}.output`);
    const texts = parts.filter(({ type }) => type === 'text');
    const result: Message = { role: 'tool', tool_call_id: id, content: contentOf(texts) };
    this.messages.push(result);
    this.#files.push(...moveFiles(result, id, parts));
  }
}

/**
 * @param items - input items, and items of earlier outputs
 * @param instructions - the first message, if any
 * @throws ApiError `invalidRequest` with the path of the item
 */
export function messagesOf(items: readonly unknown[], instructions: string | null | undefined): Message[] {
  const conversation = new Conversation();
  if (instructions) conversation.add({ role: 'system', content: instructions }, 'instructions');
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) throw refused(`input.${index}`, 'must be an object.');
    conversation.add(item, `input.${index}`);
  }
  const messages = conversation.end();
  if (messages.every(({ role }) => role === 'system')) throw refused('input', 'has no user message.');
  return messages;
}
