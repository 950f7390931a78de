import type { Schemas } from '../../api/client.ts';
import { t } from '../../texts/language.ts';
import { formatMoney } from '../../ui/numbers.ts';

type Plan = Schemas['Plan'];
export type Period = Schemas['BillingPeriod'];

export const isFree = (plan: Plan): boolean => plan.monthly_price_cents === 0;

/** The saving of yearly billing as a fraction from 0 to 1, rounded to whole percent. */
export function savingOf({ monthly_price_cents: month, yearly_price_cents: year }: Plan): number {
  return month === 0 ? 0 : Math.max(0, Math.round((1 - year / (12 * month)) * 100)) / 100;
}

export const perMonth = (plan: Plan, period: Period): string =>
  formatMoney(
    period === 'monthly' ? plan.monthly_price_cents : Math.round(plan.yearly_price_cents / 12),
    plan.currency,
  );

/** "$9.96 a month" */
export const inPeriod = (period: Period, price: string): string => t(`plan.price.${period}`, { price });

export const due = (plan: Plan, period: Period): string =>
  inPeriod(
    period,
    formatMoney(period === 'monthly' ? plan.monthly_price_cents : plan.yearly_price_cents, plan.currency),
  );
