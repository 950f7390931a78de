/** Asks another process to stop a request, with a row that every process with work reads. Contract section 16. */
import { and, eq, isNull, sql } from 'drizzle-orm';
import { deleteUpTo } from '../database/batches.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { idempotencyKeys, stopRequests } from '../database/tables.ts';
import type { Owner } from './conversations.ts';
import { type IdempotencyKey, isOfKey } from './ledger.ts';
import { daysOf } from './request-log.ts';

export type StopRequest = { accountId: string; requestId: string };

export type RequestState = 'running' | 'ended';

const isOf = ({ accountId, requestId }: StopRequest) =>
  and(eq(stopRequests.accountId, accountId), eq(stopRequests.requestId, requestId));

export async function askToStop(db: Db, { accountId, requestId }: StopRequest): Promise<void> {
  await db.execute(sql`
    insert into stop_requests (account_id, request_id, created_at) values (${accountId}::uuid, ${requestId}::uuid, now())
    on conflict (account_id, request_id) do update set created_at = now(), was_stopped = null`);
}

/** Stop requests that no process has answered yet. */
export const openStopRequests = (db: Db): Promise<StopRequest[]> =>
  db
    .select({ accountId: stopRequests.accountId, requestId: stopRequests.requestId })
    .from(stopRequests)
    .where(isNull(stopRequests.wasStopped));

export async function answerStopRequest(db: Db, request: StopRequest, wasStopped: boolean): Promise<void> {
  await db.update(stopRequests).set({ wasStopped }).where(isOf(request));
}

/** Whether the request was stopped; null if no process has answered yet. */
export async function readStopRequest(db: Db, request: StopRequest): Promise<boolean | null> {
  const [row] = await db.select().from(stopRequests).where(isOf(request));
  return row?.wasStopped ?? null;
}

export async function withdrawStopRequest(db: Db, request: StopRequest): Promise<void> {
  await db.delete(stopRequests).where(isOf(request));
}

export const deleteOldStopRequests = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, stopRequests.createdAt, sql`now() - interval '1 hour'`, signal);

/** `running` if a live process may still work on the request. Undefined if the caller has no such request. */
export async function stateOfRequest(
  db: Db,
  { accountId, keyId }: Owner,
  requestId: string,
): Promise<RequestState | undefined> {
  const days = daysOf(requestId).map((day) => sql`${day}::date`);
  if (days.length === 0) return undefined;
  const [row] = await rowsOf<{ state: RequestState }>(
    db,
    sql`
      select case when l.process is not null and (r.state = 'admitted' or r.state = 'final' and r.input_tokens is null
                       or exists (select from idempotency_keys i where i.account_id = r.account_id and i.request_id = r.id and i.resumed_by is not null))
             then 'running' else 'ended' end as state
      from requests r
      left join leases l on l.process = coalesce((
        select i.process from idempotency_keys i where i.account_id = r.account_id and i.request_id = r.id limit 1
      ), r.process) and l.expires_at > ledger_now()
      where r.account_id = ${accountId}::uuid and r.day in (${sql.join(days, sql`, `)}) and r.id = ${requestId}::uuid
        and (${keyId}::uuid is null or r.key_id = ${keyId}::uuid) and r.meter = 'chat'`,
  );
  return row?.state;
}

/** Finds a request by its idempotency key. It may not have any output yet. */
export async function findRequestOfKey(
  db: Db,
  key: IdempotencyKey,
): Promise<{ requestId: string; state: RequestState } | undefined> {
  const [row] = await db
    .select({
      requestId: idempotencyKeys.requestId,
      isRunning: sql<boolean>`status is null and exists (
        select from leases l where l.process = ${idempotencyKeys.process} and l.expires_at > ledger_now())`,
    })
    .from(idempotencyKeys)
    .where(isOfKey(key));
  return row && { requestId: row.requestId, state: row.isRunning ? 'running' : 'ended' };
}
