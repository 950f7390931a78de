/**
 * Tables that grow with use are keyed by account first, so that they can be distributed by account. None has a foreign
 * key to `accounts`: all charges of a busy account would lock its row (docs/decisions/0006-no-foreign-keys.md). The
 * partitions of `requests` and the ledger's functions are hand-written SQL in `drizzle/`.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import type { AccountEventType } from '../../schemas/events.ts';
import type { Scope } from '../../schemas/keys.ts';
import type { OperatorAction } from '../../schemas/operator-log.ts';
import { accountId, bytea, instant, tsvector } from './columns.ts';

export const accounts = pgTable(
  'accounts',
  {
    id: uuid('id').primaryKey(),
    email: text('email').notNull(),
    emailKey: text('email_key').notNull(),
    passwordHash: text('password_hash').notNull(),
    plan: text('plan').notNull(),
    billingPeriod: text('billing_period').$type<'monthly' | 'yearly'>().notNull(),
    planChangedAt: instant('plan_changed_at').notNull(),
    createdAt: instant('created_at').notNull(),
    /** When a password change or reset last cleared the limits of failed sign-ins. Null: never. */
    signInsResetAt: instant('sign_ins_reset_at'),
    /** Devices that signed in before this are no longer known. Null: all are known. */
    devicesResetAt: instant('devices_reset_at'),
    /** When the operator suspended the account. Null: it is not suspended. */
    suspendedAt: instant('suspended_at'),
    /** Set in one short transaction; the account's rows are deleted later, in batches. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    uniqueIndex('accounts_email').on(table.emailKey).where(sql`deleted_at is null`),
    index('accounts_deleted').on(table.deletedAt).where(sql`deleted_at is not null`),
  ],
);

export const sessions = pgTable(
  'sessions',
  {
    accountId: accountId(),
    id: uuid('id').notNull(),
    /** SHA-256 of the id in the cookie. */
    digest: bytea('digest').notNull(),
    createdAt: instant('created_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    address: text('address').notNull(),
    userAgent: text('user_agent').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    uniqueIndex('sessions_digest').on(table.digest),
    index('sessions_by_age').on(table.createdAt),
    index('sessions_by_use').on(table.lastSeenAt),
  ],
);

export const apiKeys = pgTable(
  'api_keys',
  {
    accountId: accountId(),
    id: uuid('id').notNull(),
    name: text('name').notNull(),
    scopes: text('scopes').array().$type<Scope[]>().notNull(),
    allowedOrigins: text('allowed_origins').array().notNull(),
    /** Of the current secret. */
    publicId: text('public_id').notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    // Excludes revoked keys, which stay for a year.
    index('api_keys_unrevoked').on(table.accountId).where(sql`revoked_at is null`),
    // Without `fastupdate`, because every lookup would read the pending list, and keys rarely change.
    index('api_keys_origins')
      .using('gin', table.allowedOrigins)
      .where(sql`revoked_at is null`)
      .with({ fastupdate: false }),
    // When the key was revoked or expired: for usage history, and for deleting old keys.
    index('api_keys_ended').on(table.accountId, sql`(least(revoked_at, expires_at))`),
    index('api_keys_by_end').on(sql`(least(revoked_at, expires_at))`),
  ],
);

/** Every secret of a key: the current one (`ends_at` null), and replaced ones. */
export const keySecrets = pgTable(
  'key_secrets',
  {
    publicId: text('public_id').primaryKey(),
    accountId: accountId(),
    keyId: uuid('key_id').notNull(),
    /** SHA-256 of the raw key. */
    digest: bytea('digest').notNull(),
    endsAt: instant('ends_at'),
  },
  (table) => [
    index('key_secrets_key').on(table.accountId, table.keyId),
    index('key_secrets_by_end').on(table.endsAt).where(sql`ends_at is not null`),
  ],
);

/** Units charged and not refunded, per account, UTC day and meter. The meter `tokens` has no ceiling. */
export const usageCounters = pgTable(
  'usage_counters',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    meter: text('meter').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.meter] }),
    // For operators only: what all accounts used on a day.
    index('usage_counters_by_day').on(table.day, table.meter),
  ],
);

/** From here on, a request is slow in the operators' view. */
export const SLOW_MS = 5000;

/** Each is missing if it is unknown. */
export type RequestDetails = {
  /** From the charge to the first output of a stream. */
  first_output_ms?: number;
  /** Of the input tokens. */
  cached_tokens?: number;
  /** Of the output tokens. */
  reasoning_tokens?: number;
  /** Upstreams that were tried, if the operator configured several. */
  attempts?: number;
  /** The last one. Only operators see it. */
  upstream?: string;
  /** What its tokens cost the operator, in millionths of the currency. Only operators see it. */
  cost_micros?: number;
};

/** The ledger: a row per charge. `admitted` → `final` | `refunded`, each by `WHERE state = 'admitted'` only. */
export const requests = pgTable(
  'requests',
  {
    accountId: accountId(),
    /** The UTC day of admission by the database's clock; also the partition. */
    day: date('day').notNull(),
    id: uuid('id').notNull(),
    /** Null for the web. */
    keyId: uuid('key_id'),
    endpoint: text('endpoint').notNull(),
    meter: text('meter').notNull(),
    units: integer('units').notNull(),
    state: text('state').$type<'admitted' | 'final' | 'refunded'>().notNull(),
    process: uuid('process').notNull(),
    admittedAt: instant('admitted_at').notNull(),
    settledAt: instant('settled_at'),
    status: smallint('status'),
    code: text('code'),
    model: text('model'),
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    latencyMs: integer('latency_ms'),
    /** What else is known, for the log. */
    details: jsonb('details').$type<RequestDetails>(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.id] }),
    index('requests_open').on(table.process).where(sql`state = 'admitted'`),
    // Ids contain a replica's clock, so they cannot replace `admitted_at`.
    index('requests_log').on(table.accountId, table.day, table.admittedAt, table.id),
    // Not the column: the planner does not know that an index is ordered behind `key_id is null`.
    index('requests_log_of_key').on(
      table.accountId,
      sql`(coalesce(key_id, '00000000-0000-0000-0000-000000000000'::uuid))`,
      table.day,
      table.admittedAt,
      table.id,
    ),
    index('requests_log_failed')
      .on(table.accountId, table.day, table.admittedAt, table.id)
      .where(sql`status >= 400`),
    // For operators only.
    index('requests_slow').on(table.day, table.admittedAt).where(sql`latency_ms >= 5000`),
  ],
);

/** What the tokens of an account cost the operator, for operators only. */
export const upstreamCosts = pgTable(
  'upstream_costs',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    upstream: text('upstream').notNull(),
    /** Millionths of the currency of `UPSTREAMS_FILE`. */
    micros: bigint('micros', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.upstream] }),
    index('upstream_costs_by_day').on(table.day, table.upstream),
  ],
);

/** Processes that may hold admitted charges. A sweep refunds only charges of expired leases. */
export const leases = pgTable('leases', {
  process: uuid('process').primaryKey(),
  expiresAt: instant('expires_at').notNull(),
});

/** Requests of known accounts that were refused before a charge: best effort, per minute. */
export const refusals = pgTable(
  'refusals',
  {
    accountId: accountId(),
    minute: instant('minute').notNull(),
    keyId: uuid('key_id').notNull(),
    code: text('code').notNull(),
    status: smallint('status').notNull(),
    count: integer('count').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.minute, table.keyId, table.code] }),
    index('refusals_by_age').on(table.minute),
  ],
);

/**
 * Usage under email addresses that were given up today. New accounts with them inherit it until midnight.
 * `former_account` is in the key, so that giving up an address twice counts once.
 */
export const carriedUsage = pgTable(
  'carried_usage',
  {
    /** HMAC-SHA-256 of the lowercase address. */
    emailDigest: bytea('email_digest').notNull(),
    day: date('day').notNull(),
    meter: text('meter').notNull(),
    formerAccount: uuid('former_account').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.emailDigest, table.day, table.meter, table.formerAccount] }),
    index('carried_usage_day').on(table.day),
  ],
);

/** Daily usage per key: final charges and tokens. Outlives old days of `requests`. */
export const keyUsage = pgTable(
  'key_usage',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    keyId: uuid('key_id').notNull(),
    meter: text('meter').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.day, table.keyId, table.meter] })],
);

/** Idempotency keys of metered requests, kept for 24 hours. A refused or refunded request frees its key. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: accountId(),
    /** The credential: a key's id, or the nil UUID for the web. */
    owner: uuid('owner').notNull(),
    key: text('key').notNull(),
    /** SHA-256 of the endpoint and the body, in hex. */
    fingerprint: text('fingerprint').notNull(),
    requestId: uuid('request_id').notNull(),
    day: date('day').notNull(),
    process: uuid('process').notNull(),
    createdAt: instant('created_at').notNull(),
    /** The attempt that reruns it after an interruption. */
    resumedBy: uuid('resumed_by'),
    /** How often it was resumed: at most twice. */
    resumes: smallint('resumes').notNull().default(0),
    /** The stored answer; null while it runs. */
    status: smallint('status'),
    body: text('body'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.owner, table.key] }),
    index('idempotency_keys_request').on(table.accountId, table.requestId),
    index('idempotency_keys_by_age').on(table.createdAt),
    index('idempotency_keys_resumed').on(table.accountId, table.resumedBy).where(sql`resumed_by is not null`),
  ],
);

export const accountEvents = pgTable(
  'account_events',
  {
    accountId: accountId(),
    /** UUIDv7: ordered like `at`, and the cursors' tie-breaker. */
    id: uuid('id').notNull(),
    at: instant('at').notNull(),
    type: text('type').$type<AccountEventType>().notNull(),
    /** Null for actions of the operator or the service. */
    address: text('address'),
    userAgent: text('user_agent'),
    keyId: uuid('key_id'),
    detail: text('detail'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    index('account_events_recent').on(
      table.accountId,
      table.at.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    index('account_events_by_age').on(table.at),
  ],
);

/** What operators changed, kept for a year. Not the account's: it stays when the account is deleted. */
export const operatorLog = pgTable(
  'operator_log',
  {
    /** UUIDv7: ordered like `at`, and the cursors' tie-breaker. */
    id: uuid('id').primaryKey(),
    at: instant('at').notNull(),
    /** Null for the command line. */
    operatorId: uuid('operator_id'),
    operatorEmail: text('operator_email'),
    action: text('action').$type<OperatorAction>().notNull(),
    subjectId: uuid('subject_id').notNull(),
    subjectEmail: text('subject_email').notNull(),
    detail: text('detail'),
    address: text('address'),
    userAgent: text('user_agent'),
  },
  (table) => [index('operator_log_recent').on(table.at.desc().nullsFirst(), table.id.desc().nullsFirst())],
);

export const conversations = pgTable(
  'conversations',
  {
    accountId: accountId(),
    id: uuid('id').notNull(),
    keyId: uuid('key_id'),
    title: text('title').notNull(),
    isPinned: boolean('is_pinned').notNull().default(false),
    /** For replies that do not bring their own. */
    instructions: text('instructions'),
    temperature: doublePrecision('temperature'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    index('conversations_pinned')
      .on(table.accountId, table.updatedAt.desc().nullsFirst(), table.id.desc().nullsFirst())
      .where(sql`is_pinned`),
    index('conversations_recent').on(
      table.accountId,
      table.updatedAt.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    index('conversations_of_key')
      .on(table.accountId, table.keyId, table.updatedAt.desc().nullsFirst(), table.id.desc().nullsFirst())
      .where(sql`key_id is not null`),
  ],
);

export const messages = pgTable(
  'messages',
  {
    accountId: accountId(),
    conversationId: uuid('conversation_id').notNull(),
    id: uuid('id').notNull(),
    /** From 1 without gaps. Replicas' clocks, and so ids, differ. Older messages have 0, in the order of their ids. */
    position: integer('position').notNull().default(0),
    role: text('role').$type<'user' | 'assistant'>().notNull(),
    content: text('content').notNull(),
    model: text('model'),
    /** Whether the client stopped the answer. */
    isStopped: boolean('is_stopped').notNull().default(false),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.conversationId, table.id] }),
    index('messages_in_order').on(table.accountId, table.conversationId, table.position, table.id),
  ],
);

/** Requests that a process asks the others to stop. Each lasts for seconds. */
export const stopRequests = pgTable(
  'stop_requests',
  {
    accountId: accountId(),
    requestId: uuid('request_id').notNull(),
    createdAt: instant('created_at').notNull(),
    /** Null until the process that runs it has answered. */
    wasStopped: boolean('was_stopped'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.requestId] }),
    index('stop_requests_by_age').on(table.createdAt),
  ],
);

/** Responses of the Responses API, kept for 30 days. */
export const storedResponses = pgTable(
  'stored_responses',
  {
    accountId: accountId(),
    /** The request's. */
    id: uuid('id').notNull(),
    keyId: uuid('key_id'),
    previousId: uuid('previous_id'),
    /** JSON: the items of this request alone. */
    input: text('input').notNull(),
    /** JSON: the response. */
    body: text('body').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    index('stored_responses_by_age').on(table.createdAt),
  ],
);

export const settings = pgTable('settings', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** Unused. The next minor version drops it: until then, instances of the previous one read it. Decision 0023. */
export const passages = pgTable(
  'passages',
  {
    guide: text('guide').notNull(),
    position: integer('position').notNull(),
    title: text('title').notNull(),
    heading: text('heading').notNull(),
    anchor: text('anchor').notNull(),
    body: text('body').notNull(),
    search: tsvector('search')
      .notNull()
      .generatedAlwaysAs(
        sql`setweight(to_tsvector('english', heading), 'A') || setweight(to_tsvector('english', title), 'B') || setweight(to_tsvector('english', body), 'C')`,
      ),
  },
  (table) => [
    primaryKey({ columns: [table.guide, table.position] }),
    index('passages_search').using('gin', table.search),
  ],
);
