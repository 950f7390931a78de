/** Numbers and sums of money as people read them. */

const integer = new Intl.NumberFormat('en');

/** "10,000". */
export const formatCount = (count: number): string => integer.format(count);

/** "1 reply", "1,000 replies". */
export const countOf = (count: number, { many, one }: { one: string; many: string }): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** "10.00 USD". */
export function formatMoney(cents: number, currency: string): string {
  const amount = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${amount.format(cents / 100)} ${currency}`;
}
