/** System messages after the beginning of a conversation, which many models do not take. Contract section 15. */
import { isObject, type JsonObject } from './upstream/json.ts';

/** A system message in the words of a user. Agents mark theirs this way. */
export const reminderOf = (text: string): string => `<system-reminder>\n${text}\n</system-reminder>`;

const isSystem = (message: unknown): message is JsonObject =>
  isObject(message) && (message.role === 'system' || message.role === 'developer');

const isText = (part: unknown): part is JsonObject & { text: string } =>
  isObject(part) && typeof part.text === 'string';

/** The content of a system message as text. Undefined if it is of another form. */
function textOf({ content }: JsonObject): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content) || !content.every(isText)) return undefined;
  return content.map(({ text }) => text).join('\n\n');
}

const partsOf = (content: unknown): unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as unknown[]);

/** Two contents, one after the other. Undefined if one is neither text nor a list. */
function joined(first: unknown, second: unknown): string | unknown[] | undefined {
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`;
  const areKnown = [first, second].every((content) => typeof content === 'string' || Array.isArray(content));
  return areKnown ? [...partsOf(first), ...partsOf(second)] : undefined;
}

/** The first system messages as one. */
function beginningOf(messages: readonly JsonObject[]): readonly JsonObject[] {
  const [first] = messages;
  const texts = messages.map(textOf);
  return first === undefined || texts.includes(undefined)
    ? messages
    : [{ ...first, content: texts.join('\n\n') }];
}

/**
 * The conversation for a model that takes one system message, at the beginning, and turns that alternate: later system
 * messages become part of what the user says, where they are.
 *
 * @returns undefined if the conversation is already like this
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
