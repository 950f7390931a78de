/** The filters of the request log. Contract sections 1 and 5. */
import type { Static } from '@sinclair/typebox';
import type { RequestLogFilters } from '../../schemas/request-log.ts';
import { ApiError } from '../errors.ts';
import type { LogFilter } from '../store/request-log.ts';

const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 11, 31);

/** Clamps times that Postgres cannot store, which the log cannot contain. Throws `invalidRequest` for a leap second. */
function instantFrom(param: 'from' | 'to', value: string): Date {
  const time = Date.parse(value);
  if (Number.isNaN(time)) {
    throw new ApiError('invalidRequest', {
      message: `\`${param}\` must be an RFC 3339 time without a leap second, such as 2026-11-20T13:45:12Z.`,
      param,
    });
  }
  return new Date(Math.min(Math.max(time, EARLIEST_MS), LATEST_MS));
}

/** Parses `429` or `4xx`. */
function statusesFrom(status: string): { first: number; last: number } {
  const first = Number(status.replace('xx', '00'));
  return { first, last: status.endsWith('xx') ? first + 99 : first };
}

/** @throws ApiError `invalidRequest` */
export function filterFrom(query: Static<typeof RequestLogFilters>): LogFilter {
  const { endpoint, from, id, key_id: keyId, model, status, to } = query;
  return {
    ...(id !== undefined && { id }),
    ...(keyId !== undefined && { keyId: keyId === 'web' ? null : keyId }),
    ...(endpoint !== undefined && { endpoint }),
    ...(model !== undefined && { model }),
    ...(status !== undefined && { statuses: statusesFrom(status) }),
    ...(from !== undefined && { from: instantFrom('from', from) }),
    ...(to !== undefined && { to: instantFrom('to', to) }),
  };
}
