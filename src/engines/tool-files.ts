/**
 * Images and documents in the results of tools. A tool message of chat completions holds only text, so they move to the message
 * of the user that follows. What moved is kept beside the messages, and returns where the upstream's API has a place for it.
 * Contract sections 14 and 15.
 */
import type { JsonObject } from './upstream/json.ts';

type Part = JsonObject & { type: string };

const partsByResult = new WeakMap<JsonObject, readonly Part[]>();
const moved = new WeakSet<JsonObject>();

/**
 * Moves what a tool message cannot hold.
 *
 * @param result - the tool message, with the text of the result
 * @param id - of the call
 * @param parts - of the result, in order
 * @returns the parts for the message of the user that follows, with a heading
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

/** The content of a tool message, with the images and documents that moved. */
export const resultContent = (result: JsonObject): unknown => partsByResult.get(result) ?? result.content;

/** The content of a message without what moved to it. */
export const ownContent = ({ content }: JsonObject): unknown =>
  Array.isArray(content) ? (content as JsonObject[]).filter((part) => !moved.has(part)) : content;
