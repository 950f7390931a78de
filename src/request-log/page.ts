/** A page of an account's request log. Contract section 1. */
import type { Static } from '@sinclair/typebox';
import type { RequestLogQuery } from '../../schemas/request-log.ts';
import type { Db } from '../database/client.ts';
import { decodeCursor, encodeCursor, pageOf } from '../domain/cursor.ts';
import { type LoggedRequestRow, type LogPosition, readRequestLog } from '../store/request-log.ts';
import { filterFrom } from './filter.ts';

/** The most lookups of one page, if few rows match its filter. */
const LOOKS_AT_MOST = 10;

export type LogPage = { data: Omit<LoggedRequestRow, 'day'>[]; next_cursor: string | null };

/**
 * Reads a page, newest first. If few rows match, a page may have fewer rows than `limit` although more follow.
 *
 * @throws ApiError `invalidRequest` for a cursor of another list
 */
export async function readLogPage(
  db: Db,
  accountId: string,
  query: Static<typeof RequestLogQuery>,
): Promise<LogPage> {
  const { cursor, limit = 50 } = query;
  const [day, at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['day', 'instant', 'uuid']);
  let after = day !== undefined && at !== undefined && id !== undefined ? { day, at, id } : undefined;
  const filter = filterFrom(query);
  const found: LoggedRequestRow[] = [];
  let end: LogPosition | null = null;
  for (let looks = 0; looks < LOOKS_AT_MOST && found.length <= limit; looks += 1) {
    const seen = await readRequestLog(db, accountId, limit + 1 - found.length, filter, after);
    found.push(...seen.rows);
    end = seen.end;
    if (end === null) break;
    after = end;
  }
  const { nextCursor, page } = pageOf(found, limit, (row) => [row.day, row.at, row.id]);
  return {
    data: page.map(({ day: _, ...row }) => row),
    next_cursor: nextCursor ?? (end && encodeCursor([end.day, end.at, end.id])),
  };
}
