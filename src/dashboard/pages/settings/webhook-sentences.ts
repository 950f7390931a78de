import type { Schemas } from '../../api/client.ts';
import { type TextKey, t } from '../../texts/language.ts';

type Delivery = Schemas['WebhookDelivery'];

/** The service can add meters that this page does not know. */
function nameOf(meter: string): string {
  const key = `meters.label.${meter}` as Extract<TextKey, `meters.label.${string}`>;
  return t.has(key) ? t(key) : meter;
}

const sentences: Record<Delivery['type'], (data: Delivery['data']) => string> = {
  'usage.threshold_reached': ({ meter = '', threshold = 0, used = 0, limit = 0 }) =>
    t('settings.webhook.deliveries.thresholdReached', {
      limit,
      meter: nameOf(meter),
      threshold: threshold / 100,
      used,
    }),
  'key.created': ({ name = '' }) => t('settings.webhook.deliveries.keyCreated', { name }),
  'key.reported_leaked': ({ name = '' }) => t('settings.webhook.deliveries.keyReportedLeaked', { name }),
  'session.new_device': () => t('settings.webhook.deliveries.newDevice'),
  'webhook.test': () => t('settings.webhook.deliveries.test'),
};

/** The service can add types that this page does not know. */
export const deliveryTitle = ({ data, type }: Delivery): string => sentences[type]?.(data) ?? type;

type ErrorKey = Extract<TextKey, `settings.webhook.deliveries.errors.${string}`>;

/** The service can add errors that this page does not know. */
function reasonOf({ error, response_status: status }: Delivery): string {
  if (error === null) return '';
  const key = `settings.webhook.deliveries.errors.${error.replace(/\.$/, '')}` as ErrorKey;
  if (t.has(key)) return t(key);
  if (status === null) return error;
  const isRedirect = status >= 300 && status < 400;
  return t(`settings.webhook.deliveries.${isRedirect ? 'redirected' : 'returned'}`, {
    status: String(status),
  });
}

export function deliveryStatus(delivery: Delivery): string {
  const { attempts: count, error, status } = delivery;
  if (status === 'delivered')
    return count === 1
      ? t('settings.webhook.deliveries.delivered')
      : t('settings.webhook.deliveries.deliveredAfter', { count });
  if (status === 'failed')
    return `${t('settings.webhook.deliveries.failed', { count })} ${reasonOf(delivery)}`.trim();
  return count === 0 || error === null
    ? t('settings.webhook.deliveries.waiting')
    : `${reasonOf(delivery)} ${t('settings.webhook.deliveries.retrying', { count })}`;
}
