/** Plans and the account's subscription: contract section 2. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringEnum, Timestamp } from './common.ts';

export const meters = ['chat', 'images', 'search', 'embeddings'] as const;
export type Meter = (typeof meters)[number];
export const Meter = stringEnum(meters, {
  $id: 'Meter',
  description: 'A daily quota that calls count toward.',
  ...extensible,
});

export const billingPeriods = ['monthly', 'yearly'] as const;
export type BillingPeriod = (typeof billingPeriods)[number];
export const BillingPeriod = stringEnum(billingPeriods, {
  $id: 'BillingPeriod',
  description: 'The billing period.',
  examples: ['monthly'],
});

const planId = Type.String({
  pattern: '^[a-z][a-z0-9-]{0,39}$',
  minLength: 1,
  maxLength: 40,
  description: "The plan's ID.",
  examples: ['plus'],
});
const ceiling = (what: string, example: number) =>
  nullable(Count(''), { description: `${what} per UTC day; null if unlimited.`, examples: [example] });

export const Limits = Type.Object(
  {
    chat: ceiling('Chat replies', 1000),
    images: ceiling('Images', 50),
    search: ceiling('Searches', 500),
    // Meters added after the first release are optional. A plan that omits such a meter does not include it.
    embeddings: Type.Optional(
      nullable(Count(''), {
        description:
          'Embeddings per UTC day; null if unlimited. Omitted if the plan does not include embeddings.',
        examples: [50_000],
      }),
    ),
    tokens: Type.Optional(
      nullable(Count(''), {
        description:
          'Model tokens (input and output) per UTC day. Requests reserve the most that they can use. Null or omitted if unlimited.',
        examples: [2_000_000],
      }),
    ),
  },
  { $id: 'Limits', additionalProperties: false, description: 'The daily limit of each meter.' },
);

const cents = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: 100_000_000, format: 'int32', description, examples: [example] });

const planFields = {
  id: planId,
  name: Type.String({ minLength: 1, maxLength: 60, description: 'The display name.', examples: ['Plus'] }),
  currency: Type.String({
    pattern: '^[A-Z]{3}$',
    minLength: 3,
    maxLength: 3,
    description: 'ISO 4217 code.',
    examples: ['USD'],
  }),
  monthly_price_cents: cents('The price per month, billed monthly.', 1000),
  yearly_price_cents: cents('The price per year, billed yearly: 17% less than 12 months.', 9960),
  limits: ref(Limits),
  requests_per_minute: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    format: 'int32',
    description: 'Requests per minute across all keys and the web.',
    examples: [60],
  }),
};

export const Plan = Type.Object(planFields, {
  $id: 'Plan',
  additionalProperties: false,
  description: 'A plan that an account can subscribe to.',
});

export const PlanList = Type.Object(
  {
    data: Type.Array(ref(Plan), {
      minItems: 1,
      maxItems: 50,
      description: 'The plans in display order. New accounts start on the first.',
    }),
  },
  { $id: 'PlanList', additionalProperties: false, description: 'The plans of this service.' },
);

/** The operator's `PLANS_FILE`. It has the shape of `GET /plans`, but the yearly price is optional. */
export const PlansFile = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        { ...planFields, yearly_price_cents: Type.Optional(planFields.yearly_price_cents), limits: Limits },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 50 },
    ),
  },
  { additionalProperties: false },
);

export const Subscription = Type.Object(
  {
    plan: planId,
    billing_period: ref(BillingPeriod),
    price_cents: cents('The price of one billing period.', 1000),
    currency: planFields.currency,
    limits: ref(Limits),
    requests_per_minute: planFields.requests_per_minute,
    self_serve: Type.Boolean({
      description: 'Whether the owner can change the plan. If false, only the operator can.',
      examples: [true],
    }),
    changed_at: Timestamp('When the plan or billing period last changed.'),
  },
  {
    $id: 'Subscription',
    additionalProperties: false,
    description: "The account's plan and billing.",
  },
);

export const UpdateSubscription = Type.Object(
  { plan: planId, billing_period: ref(BillingPeriod) },
  {
    $id: 'UpdateSubscription',
    additionalProperties: false,
    description: 'The plan to change to, effective immediately.',
  },
);
