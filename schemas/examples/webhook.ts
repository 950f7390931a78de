import { CurrentWebhook, PutWebhook, Webhook, WebhookDelivery, WebhookDeliveryList } from '../webhooks.ts';
import { at, example, ids, type OperationExamples } from './example.ts';

const url = 'https://hooks.example.com/parley';
const webhook = {
  url,
  secret: null,
  created_at: at('09:30:00.000'),
  old_secret_ends_at: null,
  disabled_at: null,
};
// Not a secret: the bytes spell "example of a signing secret".
const secret = 'whsec_ZXhhbXBsZSBvZiBhIHNpZ25pbmcgc2VjcmV0';

export const webhookExamples: Record<string, OperationExamples> = {
  getWebhook: {
    responses: { webhook: example(CurrentWebhook, 'A webhook', { data: webhook }) },
  },
  putWebhook: {
    requests: { webhook: example(PutWebhook, 'Where to send messages', { url }) },
    responses: { webhook: example(Webhook, 'A new webhook with its secret', { ...webhook, secret }) },
  },
  rotateWebhookSecret: {
    responses: {
      webhook: example(Webhook, 'The webhook with its new secret', {
        ...webhook,
        secret,
        old_secret_ends_at: '2026-11-21T09:30:00.000Z',
      }),
    },
  },
  testWebhook: {
    responses: {
      delivery: example(WebhookDelivery, 'A test message, not attempted yet', {
        id: '01932f70-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
        type: 'webhook.test',
        at: at('13:45:12.345'),
        status: 'pending',
        attempts: 0,
        last_attempt_at: null,
        next_attempt_at: at('13:45:12.345'),
        response_status: null,
        error: null,
        data: {},
      }),
    },
  },
  listWebhookDeliveries: {
    responses: {
      newest: example(WebhookDeliveryList, 'A delivered message', {
        data: [
          {
            id: '01932f70-0b7d-7c55-8f10-5b6c7d8e9f01',
            type: 'key.created',
            at: at('13:40:00.000'),
            status: 'delivered',
            attempts: 1,
            last_attempt_at: at('13:40:00.845'),
            next_attempt_at: null,
            response_status: 204,
            error: null,
            data: { key_id: ids.key, name: 'Website' },
          },
        ],
        next_cursor: null,
      }),
    },
  },
};
