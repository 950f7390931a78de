import { readFileSync } from 'node:fs';
import type { Static } from '@sinclair/typebox';
import {
  type BillingPeriod,
  type Meter,
  meters,
  type Plan as PlanSchema,
  PlansFile,
} from '../../schemas/plans.ts';
import { checkerOf } from '../validation/validators.ts';

export type Plan = Static<typeof PlanSchema>;

/** In display order. Never empty. */
export type PlanCatalog = Readonly<{
  plans: readonly Plan[];
  /** The plan of new accounts, and of accounts whose plan is discontinued. */
  standard: Plan;
  find(id: string): Plan | undefined;
  of(account: { plan: string }): Plan;
}>;

/** The yearly price in cents: twelve months minus 17 %, rounded. */
export const yearlyPriceCents = (monthlyPriceCents: number): number =>
  Math.round((12 * monthlyPriceCents * 83) / 100);

/** Whether the plan includes a meter. Accounts cannot use other meters. */
export const includes = (plan: Plan, meter: Meter): boolean => plan.limits[meter] !== undefined;

/** The daily limit of a meter. Null if unlimited, 0 if the plan does not include the meter. */
export const ceilingOf = (plan: Plan, meter: Meter): number | null =>
  includes(plan, meter) ? (plan.limits[meter] ?? null) : 0;

/** The daily limit of tokens; null if unlimited. */
export const tokensCeilingOf = (plan: Plan): number | null => plan.limits.tokens ?? null;

/** Whether any plan limits tokens. */
export const limitsTokens = ({ plans }: Pick<PlanCatalog, 'plans'>): boolean =>
  plans.some((plan) => tokensCeilingOf(plan) !== null);

/** The daily limit of every meter. */
export const ceilingsOf = (plan: Plan): Record<Meter, number | null> =>
  Object.fromEntries(meters.map((meter) => [meter, ceilingOf(plan, meter)])) as Record<Meter, number | null>;

export const priceCents = (plan: Plan, period: BillingPeriod): number =>
  period === 'yearly' ? plan.yearly_price_cents : plan.monthly_price_cents;

function planCatalog(plans: readonly Plan[]): PlanCatalog {
  const byId = new Map(plans.map((plan) => [plan.id, plan]));
  if (byId.size < plans.length) throw new Error('two plans have the same ID.');
  const [standard] = plans;
  if (standard === undefined) throw new Error('there must be at least one plan.');
  return Object.freeze({
    plans,
    standard,
    find: (id: string) => byId.get(id),
    of: ({ plan }: { plan: string }) => byId.get(plan) ?? standard,
  });
}

const builtIn = (
  id: string,
  name: string,
  monthly: number,
  chat: number,
  images: number,
  search: number,
  embeddings: number,
  perMinute: number,
): Plan => ({
  id,
  name,
  currency: 'USD',
  monthly_price_cents: monthly,
  yearly_price_cents: yearlyPriceCents(monthly),
  limits: { chat, images, search, embeddings },
  requests_per_minute: perMinute,
});

export const defaultPlans: PlanCatalog = planCatalog([
  builtIn('free', 'Free', 0, 50, 5, 50, 1000, 20),
  builtIn('plus', 'Plus', 1000, 1000, 50, 500, 50_000, 60),
  builtIn('pro', 'Pro', 3000, 10_000, 500, 5000, 500_000, 300),
]);

/** Loads a file in the shape of `GET /plans`; a yearly price is optional. Throws an Error that describes the fault. */
export function loadPlans(file: string): PlanCatalog {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const fault = checkerOf(PlansFile)(content);
  if (fault !== null) throw new Error(`${fault}.`);
  const { data } = content as Static<typeof PlansFile>;
  return planCatalog(
    data.map((plan) => {
      const yearly = yearlyPriceCents(plan.monthly_price_cents);
      if (plan.yearly_price_cents !== undefined && plan.yearly_price_cents !== yearly) {
        throw new Error(`plan "${plan.id}": yearly_price_cents must be ${yearly} (12 months minus 17%).`);
      }
      return { ...plan, yearly_price_cents: yearly };
    }),
  );
}
