import { t } from '../texts/language.ts';

const withPlan = ['accountCreated', 'planChanged'];

/** The detail of an account event or an operator log entry. The API writes a plan as "plus, yearly". */
export function detailText(what: string, detail: string): string {
  const [, plan, period] = /^(.+), (monthly|yearly)$/.exec(detail) ?? [];
  if (plan === undefined || !withPlan.includes(what)) return detail;
  return t(period === 'yearly' ? 'plan.billed.yearly' : 'plan.billed.monthly', { plan });
}
