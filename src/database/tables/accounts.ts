/** Accounts, their sessions and keys, and the logs of changes to accounts. */
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import type { AccountEventType } from '../../../schemas/events.ts';
import type { Scope } from '../../../schemas/keys.ts';
import type { OperatorAction } from '../../../schemas/operator-log.ts';
import { accountId, bytea, instant } from '../columns.ts';

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
    /** Set in one short transaction. The account's other rows are deleted later, in batches. */
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
    /** SHA-256 of the secret ID in the cookie. */
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
    /** The public ID of the current secret. */
    publicId: text('public_id').notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    // Excludes revoked keys, which are kept for a year.
    index('api_keys_unrevoked').on(table.accountId).where(sql`revoked_at is null`),
    // Without `fastupdate`, because every lookup would read the pending list, and keys rarely change.
    index('api_keys_origins')
      .using('gin', table.allowedOrigins)
      .where(sql`revoked_at is null`)
      .with({ fastupdate: false }),
    // When the key was revoked or expired. For the usage history and for deleting old keys.
    index('api_keys_ended').on(table.accountId, sql`(least(revoked_at, expires_at))`),
    index('api_keys_by_end').on(sql`(least(revoked_at, expires_at))`),
  ],
);

/** All secrets of a key: the current one (`ends_at` is null) and replaced ones. */
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

export const accountEvents = pgTable(
  'account_events',
  {
    accountId: accountId(),
    /** UUIDv7: sorts like `at` and breaks ties in cursors. */
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

/** Changes made by operators, kept for a year. Rows remain when the account is deleted. */
export const operatorLog = pgTable(
  'operator_log',
  {
    /** UUIDv7: sorts like `at` and breaks ties in cursors. */
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
