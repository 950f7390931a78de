/** Continues conversations from stored responses. Contract section 14. */
import { lengthOf } from '../bodies/write-in-slices.ts';
import type { Db } from '../database/client.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';
import { ApiError } from '../errors.ts';
import type { Owner } from '../store/conversations.ts';
import { findResponse, type ResponseRow, readChain } from '../store/responses.ts';
import { parseItemId, requestIdOf } from './response-answer.ts';
import { inputItems, inputRequired, type ResponseBody } from './response-request.ts';

const MAX_RESPONSES = 1000;
/** Writing more at once would block the event loop. */
const MAX_STORED = 4 * 1024 * 1024;
/** The most JSON of all responses that one request continues. */
const MAX_EARLIER = 2 * MAX_STORED;
/** The most responses that one request refers to by item IDs. */
const MAX_REFERENCES = 100;

const outputOf = ({ body }: ResponseRow): unknown[] => (JSON.parse(body) as { output: unknown[] }).output;
const itemsOf = (row: ResponseRow): unknown[] => [...(JSON.parse(row.input) as unknown[]), ...outputOf(row)];

export const noSuchResponse = (param?: string): ApiError =>
  new ApiError('notFound', {
    message:
      'There is no stored response with this ID. Responses are kept for 30 days, unless `store` is false or they are deleted.',
    ...(param !== undefined && { param }),
  });

type Earlier = { items: unknown[]; rootId: string | undefined };

async function earlierItems(db: Db, owner: Owner, previous: string): Promise<Earlier> {
  const param = 'previous_response_id';
  const id = requestIdOf(previous);
  if (id === undefined) throw noSuchResponse(param);
  const { isWhole, rows } = await readChain(db, owner, id, MAX_RESPONSES, MAX_EARLIER);
  if (rows.length === 0) throw noSuchResponse(param);
  if (!isWhole)
    throw new ApiError('invalidRequest', {
      message:
        'The conversation before this response is too long, or a part of it was deleted or has expired. Send the items of the conversation as `input` instead.',
      param,
    });
  return { items: rows.flatMap(itemsOf), rootId: rows[0]?.id };
}

/** OpenAI's clients may omit the type of a reference. */
function referenceOf(item: unknown): string | undefined {
  if (!isObject(item) || typeof item.id !== 'string') return undefined;
  const { type } = item;
  const isBare = (type === undefined || type === null) && item.role === undefined;
  return type === 'item_reference' || isBare ? item.id : undefined;
}

/** Replaces references to items of stored responses with the items. */
async function resolvedItems(db: Db, owner: Owner, items: readonly unknown[]): Promise<readonly unknown[]> {
  if (!items.some((item) => referenceOf(item) !== undefined)) return items;
  const outputs = new Map<string, unknown[]>();
  const resolved: unknown[] = [];
  for (const [index, item] of items.entries()) {
    const reference = referenceOf(item);
    if (reference === undefined) {
      resolved.push(item);
      continue;
    }
    const place = parseItemId(reference);
    if (place === undefined) throw noSuchItem(index);
    let output = outputs.get(place.requestId);
    if (output === undefined && outputs.size >= MAX_REFERENCES) throw tooManyReferences(index);
    if (output === undefined) {
      const row = await findResponse(db, owner, place.requestId);
      output = row === undefined ? [] : outputOf(row);
      outputs.set(place.requestId, output);
    }
    const found = output.find((one) => isObject(one) && one.id === reference);
    if (found === undefined) throw noSuchItem(index);
    resolved.push(found);
  }
  return resolved;
}

const noSuchItem = (index: number): ApiError =>
  new ApiError('notFound', {
    message:
      'There is no stored item with this ID. Responses are kept for 30 days, unless `store` is false or they are deleted. Send the item itself.',
    param: `input.${index}.id`,
  });

const tooManyReferences = (index: number): ApiError =>
  new ApiError('invalidRequest', {
    message: `The input refers to more than ${MAX_REFERENCES} responses. Send the items themselves.`,
    param: `input.${index}.id`,
  });

/** Throws ApiError `invalidRequest` if an input is too large to store. */
export function assertStorable(input: readonly unknown[]): void {
  if (lengthOf(input) <= MAX_STORED) return;
  throw new ApiError('invalidRequest', {
    message:
      'The input is too large to store: the limit is 4 MiB. Send a shorter input, or `"store": false`.',
    param: 'store',
  });
}

/**
 * Returns the whole conversation of a request, oldest first.
 *
 * @returns `input`: the items of this request alone, to store with its response. `rootId`: the first response of the
 *   conversation, if the request continues one
 * @throws ApiError `notFound` if a stored response is missing; `invalidRequest` if it cannot be continued
 */
export async function conversationOf(
  db: Db,
  owner: Owner,
  body: ResponseBody,
): Promise<{ items: readonly unknown[]; input: readonly unknown[]; rootId: string | undefined }> {
  const previous = body.previous_response_id;
  const given = inputItems(body);
  if (given.length === 0 && !previous) throw inputRequired();
  const [earlier, input] = await Promise.all([
    previous ? earlierItems(db, owner, previous) : undefined,
    resolvedItems(db, owner, given),
  ]);
  return { items: [...(earlier?.items ?? []), ...input], input, rootId: earlier?.rootId };
}

/** Adds the type of a message, and turns its text into a part. */
function listedItem(item: JsonObject): JsonObject {
  const { content, role, type } = item;
  if (type !== undefined && type !== null && type !== 'message') return item;
  const kind = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' ? [{ type: kind, text: content }] : content;
  return { ...item, type: 'message', content: parts };
}

/** The input items of a stored response, each with an ID and a type. */
export const listedInput = ({ id, input }: ResponseRow): JsonObject[] =>
  (JSON.parse(input) as JsonObject[]).map((item, index) => ({
    ...listedItem(item),
    id: typeof item.id === 'string' ? item.id : `item_${id.replaceAll('-', '')}_${index}`,
  }));
