const DAY_MS = 86_400_000;

export const expiries = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a specific date' },
];

/** @param date - for the expiry `date`: the last day on which the key works, in local time */
export function expiryFrom(expiry: string, date: string): string | null {
  if (expiry === 'never') return null;
  if (expiry === 'date') return new Date(`${date}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(expiry) * DAY_MS).toISOString();
}
