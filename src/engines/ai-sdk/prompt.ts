/** Converts messages of chat completions to a prompt of the AI SDK. Contract section 15. */
import type { LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider';
import {
  callsOf,
  cannotExpress,
  dataUrlOf,
  type Part,
  partsOf,
  readable,
  textsOf,
} from '../dialects/parts.ts';
import { reminderOf } from '../system-messages.ts';
import { isObject, type JsonObject, parseJson } from '../upstream/json.ts';

type Content<Role> = Extract<LanguageModelV3Message, { role: Role }>['content'];
type UserPart = Content<'user'>[number];

const audioTypes: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' };

/** Parley does not fetch URLs: the provider's server fetches them, or its package rejects them. */
function fileOf(url: string, otherType: string, path: string): UserPart {
  const known = dataUrlOf(url);
  if (known !== undefined) return { type: 'file', mediaType: known.type, data: known.data };
  if (!URL.canParse(url)) throw cannotExpress(path, 'must be a URL or a data URL.');
  return { type: 'file', mediaType: otherType, data: new URL(url) };
}

function userPart(part: Part, path: string): UserPart {
  if (part.type === 'text') return part;
  if (part.type === 'image') return fileOf(part.url, 'image/*', path);
  if (part.type === 'file') {
    const file = fileOf(part.data, 'application/pdf', path);
    return part.filename === undefined ? file : ({ ...file, filename: part.filename } as UserPart);
  }
  const { data, format } = isObject(part.audio) ? part.audio : {};
  const mediaType = typeof format === 'string' ? audioTypes[format] : undefined;
  if (typeof data !== 'string' || mediaType === undefined)
    throw cannotExpress(path, 'must be audio in `mp3` or `wav`.');
  return { type: 'file', mediaType, data };
}

const userParts = (content: unknown, path: string): UserPart[] =>
  partsOf(content, path)
    .map((part, index) => userPart(part, `${path}.${index}`))
    .filter((part) => part.type !== 'text' || part.text !== '');

/** The arguments of a call. Clients may send back invalid JSON that a model wrote. */
function inputOf(text: string): JsonObject {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}

function assistantParts(message: JsonObject, path: string, names: Map<string, string>): Content<'assistant'> {
  const texts = [textsOf(message.content, `${path}.content`), message.refusal];
  const calls = callsOf(message, path);
  for (const { id, name } of calls) names.set(id, name);
  return [
    ...texts
      .filter((text) => typeof text === 'string' && text !== '')
      .map((text) => ({ type: 'text' as const, text: text as string })),
    ...calls.map(({ arguments: given, id, name }) => ({
      ...{ type: 'tool-call' as const, toolCallId: id, toolName: name },
      input: inputOf(given),
    })),
  ];
}

/** @throws ApiError `invalidRequest` that names the part that the AI SDK cannot express */
export function promptOf(messages: readonly unknown[]): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = [];
  /** Tool names by call ID, for the calls so far. */
  const names = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`;
    const { content, role, tool_call_id: id } = readable(message, path) as JsonObject;
    const place = `${path}.content`;
    if (role === 'system' || role === 'developer') {
      const text = textsOf(content, place);
      const isFirst = prompt.every((other) => other.role === 'system');
      if (text === '') continue;
      if (isFirst) prompt.push({ role: 'system', content: text });
      // Google's package rejects a system message here.
      else prompt.push({ role: 'user', content: [{ type: 'text', text: reminderOf(text) }] });
    } else if (role === 'assistant') {
      const parts = assistantParts(message as JsonObject, path, names);
      if (parts.length > 0) prompt.push({ role, content: parts });
    } else if (role === 'tool') {
      const call = String(id);
      const toolName = names.get(call);
      if (toolName === undefined)
        throw cannotExpress(`${path}.tool_call_id`, 'must be the ID of a call in an earlier message.');
      const output = { type: 'text' as const, value: textsOf(content, place) };
      const result = { type: 'tool-result' as const, toolCallId: call, toolName, output };
      const last = prompt.at(-1);
      if (last?.role === 'tool') last.content.push(result);
      else prompt.push({ role, content: [result] });
    } else if (role === 'user') {
      prompt.push({ role, content: userParts(content, place) });
    } else throw cannotExpress(`${path}.role`, 'must not be `function`. Use `tool`.');
  }
  return prompt;
}
