import { language, perLanguage } from '../texts/language.ts';

const integer = perLanguage((language) => new Intl.NumberFormat(language));

/** "." or ",", for numbers that users type. */
export const decimalSeparator = perLanguage(
  (language) =>
    new Intl.NumberFormat(language).formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.',
);

export const formatCount = (count: number): string => integer().format(count);

const compact = perLanguage(
  (language) => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
);

/** "1.2M", for narrow spaces. */
export const compactCount = (count: number): string => compact().format(count);

const list = perLanguage((language) => new Intl.ListFormat(language, { type: 'unit' }));

/** "3 in, 5 out" */
export const listOf = (parts: readonly string[]): string => list().format(parts);

/** Formats millionths of a currency. Small amounts have more digits: "$0.0041". */
export const formatCost = (micros: number, currency: string): string =>
  new Intl.NumberFormat(language, {
    style: 'currency',
    currency,
    ...(micros < 1_000_000 && { maximumSignificantDigits: 2 }),
  }).format(micros / 1_000_000);

/** "$99.60" */
export const formatMoney = (cents: number, currency: string): string =>
  new Intl.NumberFormat(language, { style: 'currency', currency }).format(cents / 100);

const milliseconds = perLanguage(
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'millisecond' }),
);
const seconds = perLanguage(
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', maximumFractionDigits: 1 }),
);

/** "850 ms", "1.2 sec" */
export const formatMs = (ms: number): string =>
  ms < 1000 ? milliseconds().format(ms) : seconds().format(ms / 1000);
