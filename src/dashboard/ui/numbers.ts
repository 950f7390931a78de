const integer = new Intl.NumberFormat('en');

export const formatCount = (count: number): string => integer.format(count);

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** "1.2M", where there is no room for more. */
export const compactCount = (count: number): string => compact.format(count);

export const countOf = (count: number, { many, one }: { one: string; many: string }): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Millionths of a currency. Small amounts keep more digits: "0.0041 USD". */
export function formatCost(micros: number, currency: string): string {
  const digits = micros < 1_000_000 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return `${new Intl.NumberFormat('en', digits).format(micros / 1_000_000)} ${currency}`;
}

export function formatMoney(cents: number, currency: string): string {
  const amount = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${amount.format(cents / 100)} ${currency}`;
}
