/** Usage, today's and of the last days: service document section 2, contract sections 1 and 2. */
import { Type } from '@sinclair/typebox';
import { Count, Day, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';
import { Limits, meters } from './plans.ts';

export const UsedCounters = Type.Object(
  {
    chat: Count('Chat replies charged today.', [1]),
    images: Count('Images charged today.', [0]),
    search: Count('Searches charged today.', [0]),
    tokens: Count('Model tokens in and out today; no ceiling.', [311]),
  },
  {
    $id: 'UsedCounters',
    additionalProperties: false,
    description: 'What the account used since 00:00 UTC, over all keys and the web.',
  },
);

export const Usage = Type.Object(
  {
    plan: Type.String({ maxLength: 40, description: "The account's plan.", examples: ['free'] }),
    used: ref(UsedCounters),
    limits: ref(Limits),
    resetsAt: Timestamp('The next 00:00 UTC, when the counters start again at 0.'),
  },
  { $id: 'Usage', additionalProperties: false, description: "The account's use of today's quota." },
);

/** What history is kept of: the meters with ceilings, and tokens. */
export const usageMeters = [...meters, 'tokens'] as const;
export type UsageMeter = (typeof usageMeters)[number];
export const UsageMeter = stringEnum(usageMeters, {
  $id: 'UsageMeter',
  description: 'What was used.',
});

export const KeyShare = Type.Object(
  {
    key_id: nullable(Uuid(''), { description: 'The key; null for the web.' }),
    used: Count('What it used.'),
  },
  { $id: 'KeyShare', additionalProperties: false, description: 'What one key, or the web, used in a day.' },
);

export const DayUsage = Type.Object(
  {
    day: Day('The UTC day.'),
    meter: ref(UsageMeter),
    used: Count('All that counts toward the quota of the day: what was charged and not given back.'),
    by_key: Type.Array(ref(KeyShare), {
      maxItems: 1000,
      description:
        'Who used it, the largest share first. Requests under way are in `used` and not yet in here; the web is `key_id` null.',
    }),
  },
  {
    $id: 'DayUsage',
    additionalProperties: false,
    description: 'What an account used of one meter in one day.',
  },
);

export const KeyLabel = Type.Object(
  {
    id: Uuid("The key's id."),
    name: Type.String({ maxLength: 100, description: "The key's name.", examples: ['Website'] }),
    key_prefix: Type.String({
      maxLength: 15,
      description: 'The beginning of its current or last secret.',
      examples: ['parley_4Fq0ZkT9'],
    }),
    active: Type.Boolean({
      description: 'Whether it works: false once it is revoked or has expired.',
      examples: [true],
    }),
  },
  { $id: 'KeyLabel', additionalProperties: false, description: 'What to call a key that was used.' },
);

export const UsageHistory = Type.Object(
  {
    data: Type.Array(ref(DayUsage), {
      maxItems: 360,
      description: 'Each day and each meter, also where nothing was used: the oldest day first, today last.',
    }),
    keys: Type.Array(ref(KeyLabel), {
      maxItems: 1000,
      description:
        'The keys that worked in the period, revoked and expired ones too; active ones first, then the newest.',
    }),
  },
  { $id: 'UsageHistory', additionalProperties: false, description: 'What an account used day by day.' },
);

export const UsageHistoryQuery = Type.Object(
  {
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 90,
        default: 30,
        format: 'int32',
        description: 'How many UTC days, today included.',
        examples: [7],
      }),
    ),
  },
  { additionalProperties: false },
);
