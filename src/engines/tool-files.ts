/**
 * Images and documents in tool results. A tool message of chat completions holds only text, so these parts move to the
 * user message that follows. Parley remembers the original parts and restores them if the upstream's API accepts files
 * in tool results. Contract sections 14 and 15.
 */
import type { JsonObject } from './upstream/json.ts';

type Part = JsonObject & { type: string };

const partsByResult = new WeakMap<JsonObject, readonly Part[]>();
const moved = new WeakSet<JsonObject>();

/**
 * Moves the parts that a tool message cannot hold.
 *
 * @param result - the tool message, with the text of the result
 * @param id - the ID of the call
 * @param parts - all parts of the result, in order
 * @returns the parts for the user message that follows, with a heading; none if all parts are text
 */
export function moveFiles(result: JsonObject, id: string, parts: readonly Part[]): Part[] {
  const files = parts.filter(({ type }) => type !== 'text');
  if (files.length === 0) return [];
  const kind = files.some(({ type }) => type !== 'image_url') ? 'Files' : 'Images';
  const following = [{ type: 'text', text: `${kind} in the result of ${id}:` }, ...files];
  partsByResult.set(result, parts);
  for (const part of following) moved.add(part);
  return following;
}

/** The content of a tool message, including the images and documents that moved. */
export const resultContent = (result: JsonObject): unknown => partsByResult.get(result) ?? result.content;

/** The content of a message without the parts that moved into it. */
export const ownContent = ({ content }: JsonObject): unknown =>
  Array.isArray(content) ? (content as JsonObject[]).filter((part) => !moved.has(part)) : content;
