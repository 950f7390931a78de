import { type TextKey, t } from '../../texts/language.ts';
import { clockTime, exactTime } from '../../ui/when.tsx';

export const graces = [
  { seconds: 0, label: 'keys.rotate.graces.none' },
  { seconds: 3600, label: 'keys.rotate.graces.hour' },
  { seconds: 86_400, label: 'keys.rotate.graces.day' },
  { seconds: 604_800, label: 'keys.rotate.graces.week' },
] as const satisfies { seconds: number; label: TextKey }[];

/** A day is enough to update every app. For a leaked key, the user must choose deliberately. */
export const DEFAULT_GRACE_SECONDS = 86_400;

/** @param rotatedAt - in milliseconds on this device's clock */
export function graceSentence(seconds: number, rotatedAt: number): string {
  if (seconds === 0) return t('keys.rotate.oldStopped');
  const end = new Date(rotatedAt + seconds * 1000);
  const isToday = end.toDateString() === new Date(rotatedAt).toDateString();
  const until = isToday ? clockTime(end) : exactTime(end.toISOString());
  return t('keys.rotate.oldWorks', { until });
}
