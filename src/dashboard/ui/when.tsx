/** A relative time, with the exact time on hover and in `datetime`. */
import { useSyncExternalStore } from 'react';
import { perLanguage } from '../texts/language.ts';
import { everyMinute } from './minutes.ts';
import { relativeTime } from './relative-time.ts';

const dates = (options: Intl.DateTimeFormatOptions) =>
  perLanguage((language) => new Intl.DateTimeFormat(language, { ...options, hourCycle: 'h23' }));

const exact = dates({ dateStyle: 'medium', timeStyle: 'short' });
const day = dates({ dateStyle: 'medium' });
const clock = dates({ hour: '2-digit', minute: '2-digit' });

export const clockTime = (at: Date): string => clock().format(at);
export const exactTime = (at: string): string => exact().format(new Date(at));
/** Whether local time equals UTC at that moment. */
export const isUtc = (at: string): boolean => new Date(at).getTimezoneOffset() === 0;
export const dayOf = (at: string): string => day().format(new Date(at));

const minute = (): number => Math.floor(Date.now() / 60_000);

export function When({ at }: { at: string }) {
  // Renders again every minute.
  useSyncExternalStore(everyMinute, minute);
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at)}
    </time>
  );
}
