/** Pagination cursors. They are opaque to clients and untrusted, so every part is checked. */
import { validate as isUuid } from 'uuid';
import { ApiError } from '../errors.ts';

type Part = 'instant' | 'uuid' | 'day' | 'flag';

/**
 * Whether Postgres accepts the time. `Date` also accepts February 30 (as March 2), and years that Postgres rejects: 0,
 * negative years, and years after 9999 (`+085008-04-04`).
 */
function isInstant(text: string): boolean {
  const time = Date.parse(text);
  return (
    /^\d{4}-/.test(text) &&
    !text.startsWith('0000') &&
    !Number.isNaN(time) &&
    new Date(time).toISOString() === text
  );
}

const checks: Record<Part, (text: string) => boolean> = {
  instant: isInstant,
  uuid: isUuid,
  flag: (text) => text === '0' || text === '1',
  day: (text) => isInstant(`${text}T00:00:00.000Z`),
};

/** Encodes the position of a page's last row, or of the last row that the page searched. */
export const encodeCursor = (parts: readonly string[]): string =>
  Buffer.from(parts.join('|')).toString('base64url');

const split = (cursor: string): string[] => Buffer.from(cursor, 'base64url').toString('utf8').split('|');

/** The number of parts in a cursor, if it is one. */
export const cursorParts = (cursor: string): number => split(cursor).length;

/** Decodes and checks a cursor. Throws ApiError `invalidRequest` if it does not have this shape. */
export function decodeCursor<const T extends readonly Part[]>(
  cursor: string,
  shape: T,
): { [K in keyof T]: string } {
  const parts = split(cursor);
  if (
    // Rejects encodings that `encodeCursor` does not produce.
    encodeCursor(parts) !== cursor ||
    parts.length !== shape.length ||
    !shape.every((part, index) => checks[part](parts[index] ?? ''))
  ) {
    throw new ApiError('invalidRequest', {
      message:
        '`cursor` did not come from this list. Send the `next_cursor` of a previous page, or leave it out to start from the first page.',
      param: 'cursor',
    });
  }
  return parts as { [K in keyof T]: string };
}

/** `rows` has one row more than `limit` if there is a next page. `positionOf` returns the parts to encode. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => readonly string[],
): { page: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? encodeCursor(positionOf(last)) : null;
  return { page, nextCursor };
}
