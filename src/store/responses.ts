/**
 * Stored responses of the Responses API. A key sees those that it created; the web sees all of the account's. Contract
 * section 14.
 */
import { and, eq, sql } from 'drizzle-orm';
import { deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { storedResponses } from '../database/tables.ts';
import type { Owner } from './conversations.ts';

const KEPT_DAYS = 30;
const isKept = sql`created_at > now() - make_interval(days => ${KEPT_DAYS}::int)`;

/** A response to store under the request's ID, in the transaction that settles the charge. */
export type StoredResponse = {
  keyId: string | null;
  previousId: string | null;
  /** The input items of this request alone. */
  input: readonly unknown[];
  body: object;
};

/** `input` and `body` are JSON. */
export type ResponseRow = { id: string; input: string; body: string };

const visibleTo = ({ accountId, keyId }: Owner) =>
  and(
    eq(storedResponses.accountId, accountId),
    keyId === null ? undefined : eq(storedResponses.keyId, keyId),
    isKept,
  );

export async function findResponse(db: Db, owner: Owner, id: string): Promise<ResponseRow | undefined> {
  const { body, input } = storedResponses;
  const [row] = await db
    .select({ id: storedResponses.id, input, body })
    .from(storedResponses)
    .where(and(visibleTo(owner), eq(storedResponses.id, id)));
  return row;
}

export type ResponseChain = {
  /** Oldest first. */
  rows: ResponseRow[];
  /** Whether the chain goes back to a response without a predecessor, within both limits. */
  isWhole: boolean;
};

/** A response and its predecessors: at most the newest `most`, within `maxBytes` of JSON. */
export async function readChain(
  db: Db,
  { accountId, keyId }: Owner,
  id: string,
  most: number,
  maxBytes: number,
): Promise<ResponseChain> {
  const isVisible = sql`r.account_id = ${accountId}::uuid and (${keyId}::uuid is null or r.key_id = ${keyId}::uuid)
    and r.created_at > now() - make_interval(days => ${KEPT_DAYS}::int)`;
  const rows = await rowsOf<ResponseRow & { previous_id: string | null }>(
    db,
    sql`with recursive chain (id, previous_id, input, body, depth, bytes) as (
      select r.id, r.previous_id, r.input, r.body, 1, octet_length(r.input)::bigint + octet_length(r.body)
      from stored_responses r where ${isVisible} and r.id = ${id}::uuid
      union all
      select r.id, r.previous_id, r.input, r.body, c.depth + 1, c.bytes + octet_length(r.input) + octet_length(r.body)
      from chain c join stored_responses r on ${isVisible} and r.id = c.previous_id
      where c.depth < ${most}::int and c.bytes + octet_length(r.input) + octet_length(r.body) <= ${maxBytes}::bigint
    )
    select id, previous_id, input, body from chain order by depth desc`,
  );
  return { rows, isWhole: rows[0]?.previous_id === null };
}

export async function deleteResponse(db: Db, owner: Owner, id: string): Promise<boolean> {
  const deleted = await db
    .delete(storedResponses)
    .where(and(visibleTo(owner), eq(storedResponses.id, id)))
    .returning({ id: storedResponses.id });
  return deleted.length > 0;
}

export const deleteOldResponses = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, storedResponses.createdAt, sql`now() - make_interval(days => ${KEPT_DAYS}::int)`, signal);
