/** Merges the chunks of a streamed completion in the same way as OpenAI's clients. Contract section 10. */
import type { CompletionChunk } from '../engines/types.ts';
import { isObject } from '../engines/upstream/json.ts';

/** String members that are replaced. All other strings are parts of a text and are concatenated. */
const names = new Set(['id', 'role', 'type', 'name', 'finish_reason']);

const indexOf = (value: unknown) => (isObject(value) ? value.index : undefined);

/** The position of each `index` in lists that were merged before. Models may send any number of tool calls. */
const positions = new WeakMap<unknown[], Map<unknown, number>>();

function positionsOf(list: unknown[]): Map<unknown, number> {
  let known = positions.get(list);
  if (known === undefined) {
    known = new Map();
    // Iterate backward, so that the first of several equal indexes wins.
    for (let at = list.length - 1; at >= 0; at--) known.set(indexOf(list[at]), at);
    positions.set(list, known);
  }
  return known;
}

function mergedLists(list: unknown[], more: readonly unknown[]): unknown[] {
  const known = positionsOf(list);
  for (const item of more) {
    const index = indexOf(item);
    const at = index === undefined ? undefined : known.get(index);
    if (at !== undefined) list[at] = merged('', list[at], item);
    else {
      if (index !== undefined) known.set(index, list.length);
      list.push(item);
    }
  }
  return list;
}

function merged(name: string, value: unknown, more: unknown): unknown {
  if (more === null || more === undefined) return value ?? more;
  if (typeof value === 'string' && typeof more === 'string' && !names.has(name)) return value + more;
  if (Array.isArray(value) && Array.isArray(more)) return mergedLists(value, more);
  if (!isObject(value) || !isObject(more)) return more;
  return Object.fromEntries(
    [...new Set([...Object.keys(value), ...Object.keys(more)])].map((key) => [
      key,
      merged(key, value[key], more[key]),
    ]),
  );
}

/** Mutates and reuses the parts of both chunks. */
export const mergedChunks = (chunk: CompletionChunk, next: CompletionChunk): CompletionChunk => ({
  ...chunk,
  choices: mergedLists(chunk.choices, next.choices) as CompletionChunk['choices'],
});
