/** How an operation announces its end: RFC 9745 (`Deprecation`) and RFC 8594 (`Sunset`). Contract section 12. */

/** Days as `2026-11-20`, each from 00:00 UTC. */
export type Deprecation = {
  /** Since when clients should move on. */
  since: string;
  /** From when it may be gone: six months after `since` at the earliest, and by default. */
  sunset?: string;
  /** Where the way on is described: a path of this service, such as `/docs/guides/versioning`. */
  link?: string;
};

/** How long what is to go announces itself. */
const MONTHS = 6;

function instantOf(day: string): Date {
  const instant = new Date(`${day}T00:00:00Z`);
  if (
    !/^\d{4}-\d\d-\d\d$/.test(day) ||
    Number.isNaN(instant.getTime()) ||
    !instant.toISOString().startsWith(day)
  )
    throw new Error(`"${day}" is no day of the form 2026-11-20.`);
  return instant;
}

/** The same day so many months later; the last of the month where that has no such day. */
function monthsLater(instant: Date, months: number): Date {
  const later = new Date(instant);
  later.setUTCMonth(later.getUTCMonth() + months);
  if (later.getUTCDate() !== instant.getUTCDate()) later.setUTCDate(0);
  return later;
}

/** A deprecation whose end is settled. */
export type Announcement = Deprecation & { sunset: string };

/**
 * Settles the end of what is deprecated.
 *
 * @throws Error where a day is none, or the sunset is too early
 */
export function announcementOf(deprecation: Deprecation): Announcement {
  const { since, sunset } = deprecation;
  const earliest = monthsLater(instantOf(since), MONTHS);
  const day = earliest.toISOString().slice(0, 10);
  if (sunset !== undefined && instantOf(sunset) < earliest)
    throw new Error(`Deprecated since ${since}, it must stay until ${day}, not ${sunset}.`);
  return { ...deprecation, sunset: sunset ?? day };
}

/** The headers that announce it. */
export const deprecationHeaders = ({ link, since, sunset }: Announcement): Record<string, string> => ({
  deprecation: `@${instantOf(since).getTime() / 1000}`,
  sunset: instantOf(sunset).toUTCString(),
  ...(link && { link: `<${link}>; rel="deprecation"; type="text/html"` }),
});
