/** The ledger: charges, counters, and what belongs to them. Contract sections 5 and 10. */
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

/** A day as the index for operators has it: days since 2000. */
export const dayNumber = (day: SQLWrapper): SQL => sql`(${day} - date '2000-01-01')`;

/** Units charged and not refunded, per account, UTC day and meter. The meter `tokens` counts what engines reported. */
export const usageCounters = pgTable(
  'usage_counters',
  {
    accountId: accountId(),
    day: date('day').notNull(),
    meter: text('meter').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
    /** Tokens that requests in progress may still use, of accounts whose plan has a ceiling of tokens. */
    reserved: bigint('reserved', { mode: 'number' }).notNull().default(0),
    /** The part of the used tokens beyond what their requests had reserved. */
    excess: bigint('excess', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.meter] }),
    // For operators only: what all accounts used on a day. An expression, because an index of the day itself looks cheaper than
    // the primary key when the statistics know no row of today, or of the meter.
    index('usage_counters_of_day').on(dayNumber(table.day), table.meter),
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
  /** The last one, and its name of the model. Only operators see them. */
  upstream?: string;
  upstream_model?: string;
  /** What its tokens cost the operator, in millionths of the currency. Only operators see it. */
  cost_micros?: number;
  /** Tokens used beyond those that were reserved. */
  excess_tokens?: number;
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
    /** The most tokens that it may use, until it is known how many it used. Null if the plan has no ceiling of them. */
    reservedTokens: integer('reserved_tokens'),
    /** What its last settlement released of them. */
    releasedTokens: integer('released_tokens'),
    /** Set if the reserved tokens count as used, because the process died. */
    tokensAssumed: boolean('tokens_assumed'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.id] }),
    index('requests_open').on(table.process).where(sql`state = 'admitted'`),
    index('requests_reserved')
      .on(table.process)
      .where(sql`reserved_tokens is not null and tokens_assumed is null`),
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
    /** How many charges. Null for tokens, and if some are from a version that did not count them. */
    requests: bigint('requests', { mode: 'number' }),
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
