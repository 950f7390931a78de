const DAY_MS = 86_400_000;

/** `date`, or the number of days until a key expires. */
export const expiries = ['never', '7', '30', '90', '365', 'date'] as const;

const endOf = (date: string): Date => new Date(`${date}T23:59:59`);

/** Whether a key can expire at the end of `date`, in local time. */
export const isFuture = (date: string): boolean => endOf(date).getTime() > Date.now();

/** @param date - for the expiry `date`: the last day on which the key works, in local time */
export function expiryFrom(expiry: string, date: string): string | null {
  if (expiry === 'never') return null;
  if (expiry === 'date') return endOf(date).toISOString();
  return new Date(Date.now() + Number(expiry) * DAY_MS).toISOString();
}
