/** Cursors: opaque to clients, positions in an order to us. Never trusted: each part is checked. */
import { validate as isUuid } from 'uuid';
import { ApiError } from '../errors.ts';

type Part = 'instant' | 'uuid' | 'day';

/**
 * Whether Postgres reads the time as well. `Date` reads February 30 as March 2, so a time that exists is one that is
 * written back unchanged; and `Date` knows years that Postgres does not: 0, negative ones, and those past 9999,
 * which it writes with a sign (`+085008-04-04`).
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
  day: (text) => isInstant(`${text}T00:00:00.000Z`),
};

/** Packs a position: of the last row of a page, or of how far it looked. */
export const encodeCursor = (parts: readonly string[]): string =>
  Buffer.from(parts.join('|')).toString('base64url');

/**
 * Unpacks a cursor.
 *
 * @param shape - what its parts are
 * @throws ApiError `invalidRequest` when it is none of ours
 */
export function decodeCursor<const T extends readonly Part[]>(
  cursor: string,
  shape: T,
): { [K in keyof T]: string } {
  const parts = Buffer.from(cursor, 'base64url').toString('utf8').split('|');
  if (
    // Bytes that no list encodes this way are not read.
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

/**
 * Cuts a page to its limit and says where the next one begins.
 *
 * @param rows - read with a limit of one more than the page's, which tells whether there is a next one
 * @param positionOf - the place of a row, as `decodeCursor` will give it back
 */
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
