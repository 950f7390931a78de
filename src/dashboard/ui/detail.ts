import { t } from '../texts/language.ts';

const withPlan = ['accountCreated', 'planChanged'];

/** The detail of an account's event, or of a row of the operator log. A plan is written as "plus, yearly". */
export function detailText(what: string, detail: string): string {
  const [, plan, period] = /^(.+), (monthly|yearly)$/.exec(detail) ?? [];
  if (plan === undefined || !withPlan.includes(what)) return detail;
  return t(period === 'yearly' ? 'plan.billed.yearly' : 'plan.billed.monthly', { plan });
}
