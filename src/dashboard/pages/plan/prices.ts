import type { Schemas } from '../../api/client.ts';
import { formatMoney } from '../../ui/numbers.ts';

type Plan = Schemas['Plan'];
export type Period = Schemas['BillingPeriod'];

export const isFree = (plan: Plan): boolean => plan.monthly_price_cents === 0;

export function savingOf({ monthly_price_cents: month, yearly_price_cents: year }: Plan): number {
  return month === 0 ? 0 : Math.max(0, Math.round((1 - year / (12 * month)) * 100));
}

export const perMonth = (plan: Plan, period: Period): string =>
  formatMoney(
    period === 'monthly' ? plan.monthly_price_cents : Math.round(plan.yearly_price_cents / 12),
    plan.currency,
  );

export const due = (plan: Plan, period: Period): string =>
  period === 'monthly'
    ? `${formatMoney(plan.monthly_price_cents, plan.currency)} a month`
    : `${formatMoney(plan.yearly_price_cents, plan.currency)} a year`;
