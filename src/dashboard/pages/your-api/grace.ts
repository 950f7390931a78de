/** For how long an old secret goes on working beside the new one. */

export const graces = [
  { seconds: 0, label: 'at once' },
  { seconds: 3600, label: 'after an hour' },
  { seconds: 86_400, label: 'after a day' },
  { seconds: 604_800, label: 'after 7 days' },
] as const;

/** What a rotation means for who still uses the old secret. */
export function graceSentence(seconds: number): string {
  if (seconds === 0) return 'The old secret has stopped working.';
  const label = graces.find((grace) => grace.seconds === seconds)?.label ?? `after ${seconds} seconds`;
  return `The old secret stops working ${label}. Put the new one in its place before then.`;
}
