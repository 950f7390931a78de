/** Exports the operators' log for programs. Contract section 17. */
import type { Db } from '../database/client.ts';
import { listOperatorLog, type OperatorLogRow } from '../store/operator-log.ts';

/** Rows that one statement reads. Memory holds only these rows. */
const ROWS_AT_ONCE = 500;

export const toLogEntry = (row: OperatorLogRow) => ({
  id: row.id,
  at: row.at.toISOString(),
  operator_id: row.operatorId,
  operator_email: row.operatorEmail,
  action: row.action,
  account_id: row.subjectId,
  account_email: row.subjectEmail,
  detail: row.detail,
  address: row.address,
  user_agent: row.userAgent,
});

/** Writes all entries as JSON Lines in batches, newest first. */
export async function* operatorLogLines(db: Db): AsyncGenerator<string, void> {
  for (let after: { at: string; id: string } | undefined; ; ) {
    const rows = await listOperatorLog(db, ROWS_AT_ONCE, after);
    yield rows.map((row) => `${JSON.stringify(toLogEntry(row))}\n`).join('');
    const last = rows.at(-1);
    if (rows.length < ROWS_AT_ONCE || last === undefined) return;
    after = { at: last.at.toISOString(), id: last.id };
  }
}
