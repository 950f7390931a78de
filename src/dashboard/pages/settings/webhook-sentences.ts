import type { Schemas } from '../../api/client.ts';
import { t } from '../../texts/language.ts';

type Delivery = Schemas['WebhookDelivery'];

const sentences: Record<Delivery['type'], (data: Delivery['data']) => string> = {
  'usage.threshold_reached': ({ meter = '', threshold = 0, used = 0, limit = 0 }) =>
    t('settings.webhook.deliveries.thresholdReached', {
      limit,
      meter,
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

export function deliveryStatus({ attempts: count, error, status }: Delivery): string {
  if (status === 'delivered')
    return count === 1
      ? t('settings.webhook.deliveries.delivered')
      : t('settings.webhook.deliveries.deliveredAfter', { count });
  if (status === 'failed')
    return `${t('settings.webhook.deliveries.failed', { count })} ${error ?? ''}`.trim();
  return count === 0 || error === null
    ? t('settings.webhook.deliveries.waiting')
    : `${error} ${t('settings.webhook.deliveries.retrying', { count })}`;
}
