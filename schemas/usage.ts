/** Usage of today and of recent days: service document section 2, contract sections 1 and 2. */
import { Type } from '@sinclair/typebox';
import { Count, Day, extensible, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';
import { Limits, meters } from './plans.ts';

export const UsedCounters = Type.Object(
  {
    chat: Count('Chat replies charged today.', [1]),
    images: Count('Images charged today.', [0]),
    search: Count('Searches charged today.', [0]),
    embeddings: Type.Optional(
      Count('Embeddings charged today. Omitted if the plan does not include embeddings.', [0]),
    ),
    tokens: Count(
      'Model tokens (input and output) used today. Limited only if the plan has `limits.tokens`.',
      [311],
    ),
  },
  {
    $id: 'UsedCounters',
    additionalProperties: false,
    description: "The account's usage since 00:00 UTC, across all keys and the web.",
  },
);

export const Usage = Type.Object(
  {
    plan: Type.String({ maxLength: 40, description: "The account's plan.", examples: ['free'] }),
    used: ref(UsedCounters),
    limits: ref(Limits),
    reserved_tokens: Type.Optional(
      Count(
        'Tokens that requests in progress may still use. With `used.tokens`, they count toward `limits.tokens`. Omitted if the plan does not limit tokens.',
        [0],
      ),
    ),
    resetsAt: Timestamp('The next 00:00 UTC, when the counters reset.'),
  },
  { $id: 'Usage', additionalProperties: false, description: "The account's usage of today's quota." },
);

const MAX_DAYS = 90;

export const usageMeters = [...meters, 'tokens'] as const;
export type UsageMeter = (typeof usageMeters)[number];
export const UsageMeter = stringEnum(usageMeters, {
  $id: 'UsageMeter',
  description: 'The meter.',
  ...extensible,
});

export const KeyShare = Type.Object(
  {
    key_id: nullable(Uuid(''), { description: 'The key; null for the web.' }),
    used: Count('The units used.'),
    requests: Type.Optional(
      Count(
        'The number of requests that used them. Refused and refunded requests are not counted. Omitted for `tokens`, and for days on which an earlier version of Parley did not count requests.',
        [1],
      ),
    ),
  },
  {
    $id: 'KeyShare',
    additionalProperties: false,
    description: 'The usage of one key, or of the web, on one day.',
  },
);

export const DayUsage = Type.Object(
  {
    day: Day('The UTC day.'),
    meter: ref(UsageMeter),
    used: Count("The units that count toward that day's quota: charged and not refunded."),
    by_key: Type.Array(ref(KeyShare), {
      maxItems: 1000,
      description:
        'Usage by key, largest first. `key_id` is null for the web. Requests whose response has not started yet are not included.',
    }),
  },
  {
    $id: 'DayUsage',
    additionalProperties: false,
    description: "An account's usage of one meter on one day.",
  },
);

export const KeyLabel = Type.Object(
  {
    id: Uuid("The key's ID."),
    name: Type.String({ maxLength: 100, description: "The key's name.", examples: ['Website'] }),
    key_prefix: Type.String({
      maxLength: 15,
      description: 'The start of its current or last secret.',
      examples: ['parley_4Fq0ZkT9'],
    }),
    active: Type.Boolean({
      description: 'Whether the key works: false once it is revoked or expired.',
      examples: [true],
    }),
  },
  { $id: 'KeyLabel', additionalProperties: false, description: 'The name of a key for display.' },
);

export const UsageHistory = Type.Object(
  {
    data: Type.Array(ref(DayUsage), {
      maxItems: MAX_DAYS * usageMeters.length,
      description:
        'One row per day and meter, even without usage, from the oldest day to today. A meter that the plan does not include has rows only if it was used in the period.',
      ...extensible,
    }),
    keys: Type.Array(ref(KeyLabel), {
      maxItems: 1000,
      description:
        'The keys that were active at any time in the period, including revoked and expired keys. Active keys come first, then the newest.',
    }),
  },
  { $id: 'UsageHistory', additionalProperties: false, description: 'The daily usage of an account.' },
);

export const UsageHistoryQuery = Type.Object(
  {
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_DAYS,
        default: 30,
        format: 'int32',
        description: 'The number of UTC days, including today.',
        examples: [7],
      }),
    ),
  },
  { additionalProperties: false },
);
