/** The operators' API: contract section 17. */
import { Type } from '@sinclair/typebox';
import { Account } from './accounts.ts';
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
import { Scope, scopes } from './keys.ts';
import { BillingPeriod } from './plans.ts';
import { LoggedRequest, RequestLogQuery } from './request-log.ts';
import { KeyLabel, Usage, UsageMeter } from './usage.ts';

const closed = { additionalProperties: false } as const;

const plan = Type.String({ minLength: 1, maxLength: 40, description: 'A plan.', examples: ['plus'] });
const ownerEmail = Type.String({
  maxLength: 254,
  description: "The account's email address.",
  examples: ['ada@example.com'],
});

const { is_operator: _, ...accountFields } = Account.properties;
const operatorAccount = {
  ...accountFields,
  suspended_at: nullable(Timestamp(''), {
    description: 'When the account was suspended; null if it is not.',
    examples: [null],
  }),
};

export const OperatorAccount = Type.Object(operatorAccount, {
  $id: 'OperatorAccount',
  ...closed,
  description: 'An account, as operators see it.',
});

const upstreamName = Type.String({
  maxLength: 100,
  description: 'Its name in `UPSTREAMS_FILE`.',
  examples: ['gpu-1'],
});
const cost_micros = Count('What the tokens cost the operator, in millionths of `currency`.', [412_000]);
const currency = nullable(Type.String({ minLength: 3, maxLength: 3 }), {
  description: 'The currency of costs, an ISO 4217 code; null without `UPSTREAMS_FILE`.',
  examples: ['USD'],
});

const excessTokens = Count(
  'Tokens that upstreams used today beyond what requests had reserved. They count as used. Covers only plans that limit tokens.',
  [0],
);

export const UpstreamCost = Type.Object(
  { upstream: upstreamName, cost_micros },
  { $id: 'UpstreamCost', ...closed, description: 'What an upstream cost today.' },
);

export const DayCost = Type.Object(
  { day: Day('The UTC day.'), upstream: upstreamName, cost_micros },
  { $id: 'DayCost', ...closed, description: 'What an upstream cost on one day.' },
);

export const OperatorAccountDetails = Type.Object(
  {
    ...operatorAccount,
    active_keys: Count('Keys that work.', [2]),
    open_sessions: Count('Signed-in devices.', [1]),
    usage: ref(Usage),
    excess_tokens: Type.Optional(excessTokens),
    costs: Type.Array(ref(DayCost), {
      maxItems: 1000,
      description:
        'What the tokens of the account cost the operator in the last 30 UTC days, by day and upstream, newest first. Empty without prices in `UPSTREAMS_FILE`.',
    }),
    currency,
    keys: Type.Array(ref(KeyLabel), {
      maxItems: 1000,
      description: 'The keys that the account had in the last 90 days: active ones first, then the newest.',
    }),
  },
  { $id: 'OperatorAccountDetails', ...closed, description: "An account with today's usage." },
);

export const OperatorAccountList = Type.Object(
  {
    data: Type.Array(ref(OperatorAccount), { maxItems: 200, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'OperatorAccountList', ...closed, description: 'A page of accounts.' },
);

export const OperatorAccountQuery = Type.Object(
  {
    limit: limitTo(200, 50),
    cursor: Type.Optional(Cursor),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'Only accounts whose email address contains this, ignoring case.',
        examples: ['example.com'],
      }),
    ),
    plan: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        description: 'Only accounts on this plan.',
        examples: ['free'],
      }),
    ),
    suspended: Type.Optional(
      stringEnum(['true'], { description: 'Only suspended accounts.', examples: ['true'] }),
    ),
  },
  closed,
);

export const CreateAccount = Type.Object(
  {
    email: Account.properties.email,
    plan: Type.Optional(plan),
    billing_period: Type.Optional(ref(BillingPeriod)),
  },
  {
    $id: 'CreateAccount',
    ...closed,
    description: 'A new account. Defaults to the first plan, billed monthly.',
  },
);

const password = Type.String({
  maxLength: 256,
  description: 'A random password, returned only here.',
  examples: ['4kqzm-7wnp2-h9xde-3rtyb'],
});

export const CreatedAccount = Type.Object(
  { ...operatorAccount, password },
  { $id: 'CreatedAccount', ...closed, description: 'The new account with its password, shown exactly once.' },
);

export const NewPassword = Type.Object(
  { password },
  { $id: 'NewPassword', ...closed, description: 'The new password, shown exactly once.' },
);

export const ChangeAccount = Type.Object(
  {
    plan: Type.Optional(plan),
    billing_period: Type.Optional(ref(BillingPeriod)),
    suspended: Type.Optional(
      Type.Boolean({
        description: 'Whether to suspend the account, so that its keys and sign-ins are refused.',
        examples: [true],
      }),
    ),
  },
  { $id: 'ChangeAccount', ...closed, minProperties: 1, description: 'What to change.' },
);

export const keyStates = [
  'active',
  'replaced',
  'expired',
  'revoked',
  'account suspended',
  'account deleted',
] as const;

export const OperatorKey = Type.Object(
  {
    id: Uuid("The key's ID."),
    account_id: Uuid("The owner's account."),
    email: ownerEmail,
    name: Type.String({ maxLength: 100, description: "The key's name.", examples: ['Website'] }),
    key_prefix: Type.String({
      maxLength: 15,
      description: 'The start of the matching secret.',
      examples: ['parley_4Fq0ZkT9'],
    }),
    scopes: Type.Array(ref(Scope), {
      maxItems: scopes.length,
      description: 'Its permissions.',
      ...extensible,
    }),
    state: stringEnum(keyStates, {
      ...extensible,
      description: 'Whether the key works, or why not. `replaced`: the key has a new secret.',
    }),
    created_at: Timestamp('When the key was created.'),
    last_used_at: nullable(Timestamp(''), { description: 'When it was last used; null if never.' }),
  },
  { $id: 'OperatorKey', ...closed, description: 'A key, found by its prefix.' },
);

export const OperatorKeyList = Type.Object(
  { data: Type.Array(ref(OperatorKey), { maxItems: 100, description: 'Sorted by prefix.' }) },
  { $id: 'OperatorKeyList', ...closed, description: 'The keys that match a prefix.' },
);

export const OperatorKeyQuery = Type.Object(
  {
    prefix: Type.String({
      pattern: '^(parley_)?[0-9A-Za-z]{3,8}$',
      minLength: 3,
      maxLength: 15,
      description: 'The start of a key, at least three characters after `parley_`.',
      examples: ['parley_4Fq0'],
    }),
  },
  closed,
);

export const OperatorKeyParams = Type.Object(
  {
    prefix: Type.String({
      pattern: '^parley_[0-9A-Za-z]{8}$',
      minLength: 15,
      maxLength: 15,
      description: 'The prefix of the key.',
      examples: ['parley_4Fq0ZkT9'],
    }),
  },
  closed,
);

export const OperatorLoggedRequest = Type.Object(
  {
    ...LoggedRequest.properties,
    upstream: nullable(Type.String({ maxLength: 100 }), {
      description: 'The upstream in `UPSTREAMS_FILE` that answered, or the last one tried.',
      examples: ['gpu-1'],
    }),
    upstream_model: nullable(Type.String({ maxLength: 200 }), {
      description: "The upstream's name for the model.",
      examples: ['Qwen/Qwen3-8B'],
    }),
    cost_micros: nullable(cost_micros, {
      description: 'What the tokens cost the operator, in millionths of the currency; null without prices.',
    }),
  },
  { $id: 'OperatorLoggedRequest', ...closed, description: "A row of an account's request log." },
);

export const OperatorRequestLog = Type.Object(
  {
    data: Type.Array(ref(OperatorLoggedRequest), { maxItems: 200, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'OperatorRequestLog', ...closed, description: "A page of an account's request log." },
);

const { id: requestId, ...logQuery } = RequestLogQuery.properties;

/** In the path, `id` is the account's ID. */
export const OperatorRequestQuery = Type.Object({ ...logQuery, request_id: requestId }, closed);

const list = <T extends ReturnType<typeof Type.Object>>(item: T, description: string, maxItems = 10) =>
  Type.Array(ref(item), { maxItems, description });

export const MeterLoad = Type.Object(
  {
    meter: ref(UsageMeter),
    used: Count('Units that all accounts used today.', [51_200]),
    accounts: Count('Accounts that used the meter today.', [310]),
  },
  { $id: 'MeterLoad', ...closed, description: 'How much of a meter was used today.' },
);

export const BusyAccount = Type.Object(
  {
    id: Uuid("The account's ID."),
    email: ownerEmail,
    used: Count('Chat units that the account used today.', [900]),
  },
  { $id: 'BusyAccount', ...closed, description: 'An account with high usage today.' },
);

const code = Type.String({ maxLength: 100, description: 'The error code.', examples: ['quotaExceeded'] });

export const RefusalCause = Type.Object(
  {
    code,
    status: Type.Integer({
      minimum: 100,
      maximum: 599,
      format: 'int32',
      description: 'The HTTP status.',
      examples: [429],
    }),
    count: Count('Requests refused with this code in the last hour.', [17]),
    accounts: Count('Accounts whose requests were refused with this code.', [2]),
  },
  { $id: 'RefusalCause', ...closed, description: 'Why requests were refused in the last hour.' },
);

export const RefusedAccount = Type.Object(
  {
    id: Uuid("The account's ID."),
    email: ownerEmail,
    code,
    count: Count('Refused requests of the account in the last hour.', [15]),
    last_at: Timestamp('When the last request was refused, accurate to the minute.'),
  },
  { $id: 'RefusedAccount', ...closed, description: 'An account whose requests were refused.' },
);

export const SlowRequest = Type.Object(
  {
    id: Uuid('The `X-Request-Id`.'),
    account_id: Uuid("The account's ID."),
    email: ownerEmail,
    at: Timestamp('When it was admitted.'),
    endpoint: Type.String({
      maxLength: 200,
      description: 'Method and path.',
      examples: ['POST /api/v1/chat'],
    }),
    model: LoggedRequest.properties.model,
    upstream: OperatorLoggedRequest.properties.upstream,
    status: LoggedRequest.properties.status,
    latency_ms: Count('Milliseconds to the end of the request.', [12_000]),
    first_output_ms: LoggedRequest.properties.first_output_ms,
  },
  { $id: 'SlowRequest', ...closed, description: 'A request of the last hour that took 5 seconds or more.' },
);

export const targetStates = ['working', 'coolingDown', 'coolingDownForAccount', 'probing'] as const;

export const UpstreamTarget = Type.Object(
  {
    model: Type.String({
      maxLength: 1000,
      description: "The upstream's name for the model.",
      examples: ['m'],
    }),
    state: stringEnum(targetStates, {
      ...extensible,
      description:
        '`coolingDown`: receives no requests, because it failed or asked for a pause. `coolingDownForAccount`: the same, but only for the account whose requests failed. `probing`: receives one request at a time after cooling down.',
    }),
    ready_in_ms: Count('Milliseconds until it may be tried again.', [0]),
  },
  { $id: 'UpstreamTarget', ...closed, description: 'A model of an upstream.' },
);

export const UpstreamHealth = Type.Object(
  {
    name: upstreamName,
    kind: Type.String({ maxLength: 40, description: "The upstream's API.", examples: ['openai'] }),
    open: Count('Requests in progress.', [3]),
    concurrency: Count('The maximum number of requests in progress.', [100]),
    attempts: Count('Requests sent to it since this replica started.', [1200]),
    failures: Count('Failed requests among those attempts.', [4]),
    targets: list(UpstreamTarget, 'Its models.', 1000),
  },
  {
    $id: 'UpstreamHealth',
    ...closed,
    description: 'An upstream in `UPSTREAMS_FILE`, as seen by the replica that responds.',
  },
);

export const AccountCounts = Type.Object(
  { total: Count('All accounts.', [1200]), suspended: Count('Suspended accounts.', [1]) },
  { $id: 'AccountCounts', ...closed, description: 'How many accounts there are.' },
);

export const BackgroundJob = Type.Object(
  {
    name: Type.String({
      maxLength: 100,
      description: 'What the job does.',
      examples: ['delete old idempotency keys'],
    }),
    ended_at: Timestamp('When the last run ended.'),
    took_ms: Count('How long the run took, in milliseconds.', [4]),
    error: nullable(Type.String({ maxLength: 300 }), {
      description: 'Why the run failed; null if it succeeded.',
      examples: [null],
    }),
  },
  { $id: 'BackgroundJob', ...closed, description: 'The last run of a maintenance job, on any replica.' },
);

export const OperatorOverview = Type.Object(
  {
    at: Timestamp("The database's time."),
    day: Day('The UTC day of `meters` and `busiest_accounts`.'),
    replicas: Count('Running replicas.', [3]),
    open_charges: Count('Charges of requests in progress.', [5]),
    excess_tokens: Type.Optional(excessTokens),
    accounts: ref(AccountCounts),
    meters: Type.Array(ref(MeterLoad), { maxItems: 20, description: "Today's usage.", ...extensible }),
    busiest_accounts: list(BusyAccount, 'The accounts that used the most chat units today.'),
    refusals: list(RefusalCause, 'Causes of refusals in the last hour, most frequent first.', 200),
    refused_accounts: list(RefusedAccount, 'Accounts with the most refusals in the last hour.'),
    slow_requests: list(SlowRequest, 'The slowest requests of the last hour.'),
    upstreams: list(UpstreamHealth, 'The upstreams of `UPSTREAMS_FILE`; empty without one.', 1000),
    costs: list(
      UpstreamCost,
      "What upstreams with prices cost today. Excludes deleted accounts' costs.",
      1000,
    ),
    currency,
    jobs: list(BackgroundJob, 'Background jobs. Empty until they first run.', 100),
  },
  { $id: 'OperatorOverview', ...closed, description: 'The state of the service.' },
);
