/** The ledger: charges, counters, and related tables. Contract sections 5 and 10. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { accountId, bytea, instant } from '../columns.ts';

/** A day as in the operators' index: the number of days since 2000-01-01. */
export const dayNumber = (day: SQLWrapper): SQL => sql`(${day} - date '2000-01-01')`;

/** Units charged and not refunded, per account, UTC day, and meter. The meter `tokens` counts what engines report. */
export const usageCounters = pgTable(
  'usage_counters',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    meter: text('meter').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
    /** Tokens that requests in progress may still use. Only for accounts whose plan limits tokens. */
    reserved: bigint('reserved', { mode: 'number' }).notNull().default(0),
    /** Used tokens beyond the requests' reservations. */
    excess: bigint('excess', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.meter] }),
    // For operators: all accounts' usage on a day. An expression, because otherwise the planner may prefer this index
    // to the primary key. That happens when statistics have no row of today or of the meter.
    index('usage_counters_of_day').on(dayNumber(table.day), table.meter),
  ],
);

/** Requests with at least this latency appear as slow in the operators' overview. */
export const SLOW_MS = 5000;

/** Details for the log. A member is missing if its value is unknown. */
export type RequestDetails = {
  /** From the charge to the first output of a stream, in milliseconds. */
  first_output_ms?: number;
  /** Input tokens that the upstream read from its cache. */
  cached_tokens?: number;
  /** Output tokens used for reasoning. */
  reasoning_tokens?: number;
  /** The number of attempts, if the operator configured several upstreams. */
  attempts?: number;
  /** The upstream of the last attempt, and its name for the model. Only operators see them. */
  upstream?: string;
  upstream_model?: string;
  /** What the tokens cost the operator, in millionths of the currency. Only operators see it. */
  cost_micros?: number;
  /** Tokens used beyond the reservation. */
  excess_tokens?: number;
};

/** The ledger: one row per charge. `admitted` → `final` | `refunded`, each only by `WHERE state = 'admitted'`. */
export const requests = pgTable(
  'requests',
  {
    accountId: accountId(),
    /** The UTC day of admission by the database's clock. Also selects the partition. */
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
    /** Other known details, for the log. */
    details: jsonb('details').$type<RequestDetails>(),
    /** The most tokens that the request may use, until the usage is known. Null if the plan does not limit tokens. */
    reservedTokens: integer('reserved_tokens'),
    /** How many reserved tokens the last settlement released. */
    releasedTokens: integer('released_tokens'),
    /** Set if the reserved tokens count as used because the process died. */
    tokensAssumed: boolean('tokens_assumed'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.id] }),
    index('requests_open').on(table.process).where(sql`state = 'admitted'`),
    index('requests_reserved')
      .on(table.process)
      .where(sql`reserved_tokens is not null and tokens_assumed is null`),
    // IDs contain a replica's clock, so they cannot replace `admitted_at`.
    index('requests_log').on(table.accountId, table.day, table.admittedAt, table.id),
    // An expression, because the planner does not know that the index is ordered after `key_id is null`.
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
    // For the operators' overview.
    index('requests_slow').on(table.day, table.admittedAt).where(sql`latency_ms >= 5000`),
  ],
);

/** What each account's tokens cost the operator. Only operators see it. */
export const upstreamCosts = pgTable(
  'upstream_costs',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    upstream: text('upstream').notNull(),
    /** Millionths of the currency in `UPSTREAMS_FILE`. */
    micros: bigint('micros', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.upstream] }),
    index('upstream_costs_by_day').on(table.day, table.upstream),
  ],
);

/** Processes that may hold admitted charges. A sweep refunds only charges of processes with expired leases. */
export const leases = pgTable('leases', {
  process: uuid('process').primaryKey(),
  expiresAt: instant('expires_at').notNull(),
});

/** Requests of known accounts that were refused before a charge. Best effort, counted per minute. */
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
 * Today's usage under email addresses that accounts gave up. A new account with the address inherits it until midnight.
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

/** Daily usage per key: final charges and tokens. Kept longer than the days of `requests`. */
export const keyUsage = pgTable(
  'key_usage',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    keyId: uuid('key_id').notNull(),
    meter: text('meter').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
    /** The number of charges. Null for tokens, and if a version that did not count them wrote some. */
    requests: bigint('requests', { mode: 'number' }),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.day, table.keyId, table.meter] })],
);

/** Idempotency keys of metered requests, kept for 24 hours. A refused or refunded request frees its key. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    accountId: accountId(),
    /** The credential: a key's ID, or the nil UUID for the web. */
    owner: uuid('owner').notNull(),
    key: text('key').notNull(),
    /** SHA-256 of the endpoint and the body, in hex. */
    fingerprint: text('fingerprint').notNull(),
    requestId: uuid('request_id').notNull(),
    day: date('day').notNull(),
    process: uuid('process').notNull(),
    createdAt: instant('created_at').notNull(),
    /** The ID of the attempt that reruns the request after an interruption. */
    resumedBy: uuid('resumed_by'),
    /** The number of resumes, at most two. */
    resumes: smallint('resumes').notNull().default(0),
    /** The status of the stored response; null while the request runs. */
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
