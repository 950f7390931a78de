/** The operators' log: who changed which account, and how. Contract section 17. */
import { desc, sql } from 'drizzle-orm';
import type { OperatorAction } from '../../schemas/operator-log.ts';
import { deleteUpTo } from '../database/batches.ts';
import type { Db } from '../database/client.ts';
import { operatorLog } from '../database/tables.ts';
import { newId } from '../domain/ids.ts';
import type { EventSource } from './events.ts';

export const OPERATOR_LOG_DAYS = 365;

/** The actor: an operator's account in a session, or the command line (`id`, `email`, and `from` are null). */
export type Operator =
  | { id: string; email: string; from: NonNullable<EventSource> }
  | { id: null; email: null; from: null };

export const commandLine: Operator = { id: null, email: null, from: null };

export type OperatorAct = {
  action: OperatorAction;
  account: { id: string; email: string };
  /** The change in a few words, such as a plan or the prefix of a key. Never a secret. */
  detail?: string;
};

export type OperatorLogRow = typeof operatorLog.$inferSelect;

/** Runs `act` and logs it in one transaction. Logs nothing if `act` returns undefined. */
export function logged<T>(
  db: Db,
  operator: Operator,
  act: (tx: Db) => Promise<{ result: T; act: OperatorAct } | undefined>,
): Promise<T | undefined> {
  return db.transaction(async (tx) => {
    const done = await act(tx);
    if (done === undefined) return undefined;
    const { account, action, detail } = done.act;
    await tx.insert(operatorLog).values({
      id: newId(),
      at: sql`now()`,
      operatorId: operator.id,
      operatorEmail: operator.email,
      action,
      subjectId: account.id,
      subjectEmail: account.email,
      detail: detail ?? null,
      address: operator.from?.address ?? null,
      userAgent: operator.from?.userAgent ?? null,
    });
    return done.result;
  });
}

/** Newest first. New rows come before all pages already read. */
export function listOperatorLog(
  db: Db,
  limit: number,
  after?: { at: string; id: string },
): Promise<OperatorLogRow[]> {
  const { at, id } = operatorLog;
  return db
    .select()
    .from(operatorLog)
    .where(after && sql`(${at}, ${id}) < (${after.at}::timestamptz, ${after.id}::uuid)`)
    .orderBy(desc(at), desc(id))
    .limit(limit);
}

export const deleteOldOperatorLog = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, operatorLog.at, sql`now() - make_interval(days => ${OPERATOR_LOG_DAYS}::int)`, signal);
