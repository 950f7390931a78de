/** Messages that accounts receive by webhook. Contract section 17. */
import type { WebhookEventType } from '../../schemas/webhooks.ts';
import { ceilingsOf, type Plan, type PlanCatalog, tokensCeilingOf } from './plans.ts';

/** A webhook message without its ID and time. `data` never contains a secret. */
export type Notice = {
  type: WebhookEventType;
  data: Readonly<Record<string, unknown>>;
  /** If set, the account gets at most one notice with this name. */
  once?: string;
};

/** Percentages of a daily limit that cause a notice. */
export const thresholds = [80, 100] as const;

export type ReachedThreshold = {
  accountId: string;
  meter: string;
  threshold: number;
  /** The UTC day, such as `2026-11-20`. */
  day: string;
  used: number;
  limit: number;
};

export const thresholdReached = ({ day, limit, meter, threshold, used }: ReachedThreshold): Notice => ({
  type: 'usage.threshold_reached',
  data: { meter, threshold, day, used, limit },
  once: `${day} ${meter} ${threshold}`,
});

export const keyCreated = (key: { id: string; name: string }): Notice => ({
  type: 'key.created',
  data: { key_id: key.id, name: key.name },
});

/** What a leak report ended: the key, only a replaced secret, or nothing, because the key is public by design. */
export type LeakAction = 'key_revoked' | 'old_secret_revoked' | 'none';

export const keyReportedLeaked = (key: { id: string; name: string }, action: LeakAction): Notice => ({
  type: 'key.reported_leaked',
  data: { key_id: key.id, name: key.name, action },
});

export const signedInFromNewDevice = (from: { address: string; userAgent: string }): Notice => ({
  type: 'session.new_device',
  data: { address: from.address, user_agent: from.userAgent },
});

export const testNotice: Notice = { type: 'webhook.test', data: {} };

/** The limits of a plan, one row per meter. Omits unlimited meters and those that the plan does not include. */
const limitsOf = (plan: Plan) =>
  Object.entries({ ...ceilingsOf(plan), tokens: tokensCeilingOf(plan) }).flatMap(([meter, limit]) =>
    limit === null || limit === 0 ? [] : [{ plan: plan.id, meter, limit }],
  );

export const limitsOfPlans = ({ plans }: PlanCatalog) => plans.flatMap(limitsOf);
