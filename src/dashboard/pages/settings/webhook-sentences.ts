import type { Schemas } from '../../api/client.ts';
import { formatCount } from '../../ui/numbers.ts';

type Delivery = Schemas['WebhookDelivery'];

const sentences: Record<Delivery['type'], (data: Delivery['data']) => string> = {
  'usage.threshold_reached': ({ meter, threshold, used = 0, limit = 0 }) =>
    `${threshold}% of today’s ${meter} limit used (${formatCount(used)} of ${formatCount(limit)})`,
  'key.created': ({ name }) => `Key “${name}” created`,
  'key.reported_leaked': ({ name }) => `Key “${name}” reported as leaked`,
  'session.new_device': () => 'Sign-in from a new device',
  'webhook.test': () => 'Test message',
};

/** The service can add types that this page does not know. */
export const deliveryTitle = ({ data, type }: Delivery): string => sentences[type]?.(data) ?? type;

const attempts = (count: number): string => (count === 1 ? '1 attempt' : `${count} attempts`);

export function deliveryStatus({ attempts: count, error, status }: Delivery): string {
  if (status === 'delivered') return count === 1 ? 'Delivered' : `Delivered after ${attempts(count)}`;
  if (status === 'failed') return `Not delivered after ${attempts(count)}. ${error ?? ''}`.trim();
  return count === 0 || error === null
    ? 'Waiting to be sent'
    : `${error} Retrying (${attempts(count)} so far).`;
}
