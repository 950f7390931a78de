/** Formats "3 minutes ago" or "tomorrow". */
import { perLanguage, t } from '../texts/language.ts';

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const DAYS_OF_MONTH = 30.44;
const DAYS_OF_YEAR = 365.25;

const relative = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }));
/** "Last month" would be wrong for most dates that are a month away. */
const counted = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: 'always' }));

/** The day in the reader's calendar, as a number of days. A day on which clocks change does not have 24 hours. */
const calendarDay = (at: Date): number =>
  Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / (DAY_S * 1000);

export function relativeTime(at: string, now = Date.now()): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  const away = Math.abs(seconds);
  if (away < MINUTE_S) return t('ui.justNow');
  if (away < HOUR_S) return relative().format(Math.trunc(seconds / MINUTE_S), 'minute');
  if (away < DAY_S) return relative().format(Math.trunc(seconds / HOUR_S), 'hour');
  const days = calendarDay(new Date(at)) - calendarDay(new Date(now));
  if (Math.abs(days) < DAYS_OF_MONTH) return relative().format(days, 'day');
  if (Math.abs(days) < DAYS_OF_YEAR) return counted().format(Math.round(days / DAYS_OF_MONTH), 'month');
  return counted().format(Math.round(days / DAYS_OF_YEAR), 'year');
}
