/** Adds a plural s: `1 day`, `2 days`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
