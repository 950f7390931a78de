/** Deprecation of an operation. RFC 9745 (`Deprecation`), RFC 8594 (`Sunset`), contract section 12. */

/** Days have the form `2026-11-20` and begin at 00:00 UTC. */
export type Deprecation = {
  since: string;
  /** The first day on which it may be removed. At least six months after `since`, which is the default. */
  sunset?: string;
  /** The path of a page that describes the alternative, such as `/docs/guides/versioning`. */
  link?: string;
};

const MONTHS = 6;

function instantOf(day: string): Date {
  const instant = new Date(`${day}T00:00:00Z`);
  if (
    !/^\d{4}-\d\d-\d\d$/.test(day) ||
    Number.isNaN(instant.getTime()) ||
    !instant.toISOString().startsWith(day)
  )
    throw new Error(`"${day}" must be a date such as 2026-11-20.`);
  return instant;
}

/** The same day some months later, or the last day of that month if it is shorter. */
function monthsLater(instant: Date, months: number): Date {
  const later = new Date(instant);
  later.setUTCMonth(later.getUTCMonth() + months);
  if (later.getUTCDate() !== instant.getUTCDate()) later.setUTCDate(0);
  return later;
}

export type Announcement = Deprecation & { sunset: string };

/** Throws an Error if a day is invalid or the sunset is too early. */
export function announcementOf(deprecation: Deprecation): Announcement {
  const { since, sunset } = deprecation;
  const earliest = monthsLater(instantOf(since), MONTHS);
  const day = earliest.toISOString().slice(0, 10);
  if (sunset !== undefined && instantOf(sunset) < earliest)
    throw new Error(`Deprecated since ${since}, it must stay until ${day}, not ${sunset}.`);
  return { ...deprecation, sunset: sunset ?? day };
}

export const deprecationHeaders = ({ link, since, sunset }: Announcement): Record<string, string> => ({
  deprecation: `@${instantOf(since).getTime() / 1000}`,
  sunset: instantOf(sunset).toUTCString(),
  ...(link && { link: `<${link}>; rel="deprecation"; type="text/html"` }),
});
