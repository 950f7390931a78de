import { language, perLanguage } from '../texts/language.ts';

const integer = perLanguage((language) => new Intl.NumberFormat(language));

export const formatCount = (count: number): string => integer().format(count);

const compact = perLanguage(
  (language) => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
);

/** "1.2M", where there is no room for more. */
export const compactCount = (count: number): string => compact().format(count);

const list = perLanguage((language) => new Intl.ListFormat(language, { type: 'unit' }));

/** "3 in, 5 out" */
export const listOf = (parts: readonly string[]): string => list().format(parts);

/** Millionths of a currency. Small amounts keep more digits: "0.0041 USD". */
export function formatCost(micros: number, currency: string): string {
  const digits = micros < 1_000_000 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return `${new Intl.NumberFormat(language, digits).format(micros / 1_000_000)} ${currency}`;
}

const amount = perLanguage(
  (language) => new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
);

export function formatMoney(cents: number, currency: string): string {
  return `${amount().format(cents / 100)} ${currency}`;
}
