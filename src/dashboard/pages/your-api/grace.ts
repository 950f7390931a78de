import { clockTime, exactTime } from '../../ui/when.tsx';

export const graces = [
  { seconds: 0, label: 'immediately' },
  { seconds: 3600, label: 'after an hour' },
  { seconds: 86_400, label: 'after a day' },
  { seconds: 604_800, label: 'after 7 days' },
] as const;

/** A day, to update every app. A leaked key needs a deliberate choice either way. */
export const DEFAULT_GRACE_SECONDS = 86_400;

/** @param rotatedAt - in milliseconds of this device's clock */
export function graceSentence(seconds: number, rotatedAt: number): string {
  if (seconds === 0) return 'The old secret has stopped working.';
  const end = new Date(rotatedAt + seconds * 1000);
  const isToday = end.toDateString() === new Date(rotatedAt).toDateString();
  const until = isToday ? clockTime(end) : exactTime(end.toISOString());
  return `The old secret works until ${until} (your time). Replace it with the new one before then.`;
}
