/** Accounts' webhooks, and the outbox of messages to them. */
import { sql } from 'drizzle-orm';
import { index, integer, json, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import type { DeliveryStatus, WebhookEventType } from '../../../schemas/webhooks.ts';
import { accountId, bytea, instant } from '../columns.ts';

/** At most one per account. */
export const webhooks = pgTable('webhooks', {
  accountId: accountId().primaryKey(),
  url: text('url').notNull(),
  /** The key of the signatures, so it is not stored as a digest. */
  secret: bytea('secret').notNull(),
  oldSecret: bytea('old_secret'),
  oldSecretEndsAt: instant('old_secret_ends_at'),
  createdAt: instant('created_at').notNull(),
  /** When the endpoint returned 410. Null: the webhook is enabled. */
  disabledAt: instant('disabled_at'),
});

export const webhookMessages = pgTable(
  'webhook_messages',
  {
    accountId: accountId(),
    /** UUIDv7: sorts like `at` and breaks ties in cursors. */
    id: uuid('id').notNull(),
    at: instant('at').notNull(),
    type: text('type').$type<WebhookEventType>().notNull(),
    data: json('data').$type<Record<string, unknown>>().notNull(),
    /** A name that is unique within the account, for events to report only once. Null: no restriction. */
    once: text('once'),
    status: text('status').$type<DeliveryStatus>().notNull(),
    attempts: integer('attempts').notNull(),
    lastAttemptAt: instant('last_attempt_at'),
    /** When to attempt delivery next. During an attempt: when its process counts as dead. Null: no further attempt. */
    dueAt: instant('due_at'),
    responseStatus: integer('response_status'),
    error: text('error'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    uniqueIndex('webhook_messages_once').on(table.accountId, table.once).where(sql`once is not null`),
    index('webhook_messages_recent').on(
      table.accountId,
      table.at.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    // To find each account's next message, and to count its waiting messages.
    index('webhook_messages_due').on(table.accountId, table.dueAt).where(sql`due_at is not null`),
    index('webhook_messages_by_age').on(table.at),
  ],
);
