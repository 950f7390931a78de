/** The account's webhook and its deliveries: contract section 17. */
import { Type } from '@sinclair/typebox';
import {
  Count,
  Cursor,
  Day,
  extensible,
  limitTo,
  NextCursor,
  nullable,
  ref,
  stringEnum,
  Timestamp,
  Uuid,
} from './common.ts';

export const webhookEventTypes = [
  'usage.threshold_reached',
  'key.created',
  'key.reported_leaked',
  'session.new_device',
  'webhook.test',
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];
export const WebhookEventType = stringEnum(webhookEventTypes, {
  $id: 'WebhookEventType',
  ...extensible,
  description: 'What happened. New types may be added.',
  examples: ['usage.threshold_reached'],
});

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const MAX_WEBHOOK_URL_LENGTH = 2000;

const url = Type.String({
  minLength: 1,
  maxLength: MAX_WEBHOOK_URL_LENGTH,
  description:
    'An https URL. Unless the operator allows other hosts, its host must have a public address, which is checked before each attempt.',
  examples: ['https://hooks.example.com/parley'],
});

export const Webhook = Type.Object(
  {
    url,
    secret: nullable(Type.String({ maxLength: 100 }), {
      description:
        'The signing secret, only when it is new: `whsec_` followed by Base64. Store it; it cannot be shown again.',
      examples: [null],
    }),
    created_at: Timestamp('When the webhook was created.'),
    old_secret_ends_at: nullable(Timestamp(''), {
      description:
        'When Parley stops signing messages with the replaced secret; null if no replaced secret is in use.',
      examples: [null],
    }),
    disabled_at: nullable(Timestamp(''), {
      description:
        'When deliveries stopped because the endpoint returned 410 Gone; null if they continue. Saving the webhook re-enables it.',
      examples: [null],
    }),
  },
  {
    $id: 'Webhook',
    additionalProperties: false,
    description: 'Where the account receives notifications, signed as Standard Webhooks 1.0 specifies.',
  },
);

export const CurrentWebhook = Type.Object(
  { data: nullable(ref(Webhook), { description: 'Null if the account has no webhook.' }) },
  { $id: 'CurrentWebhook', additionalProperties: false, description: "The account's webhook." },
);

export const PutWebhook = Type.Object(
  { url },
  { $id: 'PutWebhook', additionalProperties: false, description: 'The webhook to set.' },
);

const name = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 300, description, examples: [example] }));

export const WebhookData = Type.Object(
  {
    meter: name('For `usage.threshold_reached`: the meter, or `tokens`.', 'chat'),
    threshold: Type.Optional(Count('For `usage.threshold_reached`: the percentage of the limit.', [80])),
    day: Type.Optional(Day('For `usage.threshold_reached`: the UTC day.')),
    used: Type.Optional(Count('For `usage.threshold_reached`: the units or tokens used.', [40])),
    limit: Type.Optional(Count('For `usage.threshold_reached`: the daily limit.', [50])),
    key_id: Type.Optional(Uuid("For `key.created` and `key.reported_leaked`: the key's ID.")),
    name: name("For `key.created` and `key.reported_leaked`: the key's name.", 'Website'),
    action: name(
      'For `key.reported_leaked`, what was revoked: `key_revoked`, `old_secret_revoked` (for a rotated key), or `none` (for a public key).',
      'key_revoked',
    ),
    address: name('For `session.new_device`: the network address.', '192.0.2.7'),
    user_agent: name('For `session.new_device`: the `User-Agent`.', 'curl/8.16.0'),
  },
  {
    $id: 'WebhookData',
    additionalProperties: true,
    description: 'Details of the event, as delivered. The fields depend on the type.',
    examples: [{ meter: 'chat', threshold: 80, day: '2026-11-20', used: 40, limit: 50 }],
  },
);

export const WebhookDelivery = Type.Object(
  {
    id: Uuid("The message's ID, in its `webhook-id` header at every attempt."),
    type: ref(WebhookEventType),
    at: Timestamp('When the event happened.'),
    status: stringEnum(deliveryStatuses, {
      ...extensible,
      description:
        '`pending` until the endpoint accepts the message with a 2xx status, or until attempts end after a day.',
      examples: ['delivered'],
    }),
    attempts: Count('The number of delivery attempts.', [1]),
    last_attempt_at: nullable(Timestamp(''), {
      description: 'When delivery was last attempted; null before the first attempt.',
      examples: ['2026-11-20T13:45:12.845Z'],
    }),
    next_attempt_at: nullable(Timestamp(''), {
      description: 'When the next attempt is due; null if there is none.',
      examples: [null],
    }),
    response_status: nullable(
      Type.Integer({ minimum: 100, maximum: 999, format: 'int32', description: '', examples: [204] }),
      {
        description: 'The HTTP status of the last response; null if the last attempt got no response.',
        examples: [204],
      },
    ),
    error: nullable(Type.String({ maxLength: 300 }), {
      description: 'Why the last attempt failed; null if it succeeded.',
      examples: [null],
    }),
    data: ref(WebhookData),
  },
  {
    $id: 'WebhookDelivery',
    additionalProperties: false,
    description: 'A message to the webhook, with the status of its delivery.',
  },
);

export const WebhookDeliveryList = Type.Object(
  {
    data: Type.Array(ref(WebhookDelivery), { maxItems: 100, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'WebhookDeliveryList', additionalProperties: false, description: 'A page of deliveries.' },
);

export const WebhookDeliveryListQuery = Type.Object(
  { limit: limitTo(100, 20), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
