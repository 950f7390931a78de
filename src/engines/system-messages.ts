/** Handles system messages that come later in a conversation, which many models reject. Contract section 15. */
import { isObject, type JsonObject } from './upstream/json.ts';

/** Wraps the text of a system message for use in a user message. Agents mark system text the same way. */
export const reminderOf = (text: string): string => `<system-reminder>\n${text}\n</system-reminder>`;

const isSystem = (message: unknown): message is JsonObject =>
  isObject(message) && (message.role === 'system' || message.role === 'developer');

const isText = (part: unknown): part is JsonObject & { text: string } =>
  isObject(part) && typeof part.text === 'string';

/** The content of a system message as text. Undefined if a part is not text. */
function textOf({ content }: JsonObject): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content) || !content.every(isText)) return undefined;
  return content.map(({ text }) => text).join('\n\n');
}

const partsOf = (content: unknown): unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as unknown[]);

/** Concatenates two contents. Undefined if one is neither text nor a list. */
function joined(first: unknown, second: unknown): string | unknown[] | undefined {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`;
  const areKnown = [first, second].every((content) => typeof content === 'string' || Array.isArray(content));
  return areKnown ? [...partsOf(first), ...partsOf(second)] : undefined;
}

/** Merges the system messages at the beginning into one, if all of them are text. */
function beginningOf(messages: readonly JsonObject[]): readonly JsonObject[] {
  const [first] = messages;
  const texts = messages.map(textOf);
  return first === undefined || texts.includes(undefined)
    ? messages
    : [{ ...first, content: texts.join('\n\n') }];
}

/**
 * Rewrites a conversation for a model that accepts only one system message, at the beginning, and alternating turns.
 * Later system messages become part of the user messages at the same place.
 *
 * @returns undefined if the conversation has no later system messages
 */
export function withOneSystemMessage(messages: readonly unknown[]): unknown[] | undefined {
  const isLater = (message: unknown, index: number) => index > 0 && isSystem(message);
  if (!messages.some(isLater)) return undefined;
  const end = messages.findIndex((message) => !isSystem(message));
  const all: unknown[] = [...beginningOf(messages.slice(0, end < 0 ? undefined : end) as JsonObject[])];
  let isReminder = false;
  for (const message of end < 0 ? [] : messages.slice(end)) {
    const wasReminder = isReminder;
    isReminder = isSystem(message);
    const text = isSystem(message) ? textOf(message) : undefined;
    const turn: unknown = isSystem(message)
      ? { role: 'user', content: text === undefined ? message.content : reminderOf(text) }
      : message;
    const last = all.at(-1);
    const content =
      (isReminder || wasReminder) &&
      isObject(last) &&
      isObject(turn) &&
      last.role === 'user' &&
      turn.role === 'user'
        ? joined(last.content, turn.content)
        : undefined;
    if (content === undefined) all.push(turn);
    else all[all.length - 1] = { ...(turn as JsonObject), ...(last as JsonObject), content };
  }
  return all;
}
