/** Conversations, stored responses, and requests to stop a reply. */
import type { Static } from '@sinclair/typebox';
import { sql } from 'drizzle-orm';
import {
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import type { FinishReason } from '../../../schemas/chat.ts';
import type { MessageImage as MessageImageSchema } from '../../../schemas/conversations.ts';
import { accountId, instant } from '../columns.ts';

export const conversations = pgTable(
  'conversations',
  {
    accountId: accountId(),
    id: uuid('id').notNull(),
    keyId: uuid('key_id'),
    title: text('title').notNull(),
    isPinned: boolean('is_pinned').notNull().default(false),
    /** Default instructions for replies whose request has none. */
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
    index('conversations_of_web')
      .on(table.accountId, table.updatedAt.desc().nullsFirst(), table.id.desc().nullsFirst())
      .where(sql`key_id is null`),
  ],
);

export type MessageImage = Static<typeof MessageImageSchema>;

export const messages = pgTable(
  'messages',
  {
    accountId: accountId(),
    conversationId: uuid('conversation_id').notNull(),
    id: uuid('id').notNull(),
    /** Counts from 1 without gaps, because IDs depend on replicas' clocks. Older messages have 0 and sort by ID. */
    position: integer('position').notNull().default(0),
    role: text('role').$type<'user' | 'assistant'>().notNull(),
    content: text('content').notNull(),
    model: text('model'),
    /** Null without images. Their content is in `imageUrls`, so that lists need not read it. */
    images: jsonb('images').$type<MessageImage[]>(),
    /** JSON: the images as `data:` URLs. In the same row, so that they are deleted with the message. */
    imageUrls: text('image_urls'),
    /** Whether the client stopped the reply. */
    isStopped: boolean('is_stopped').notNull().default(false),
    /** Why the reply ended. Null if unknown, and for the user's messages. */
    finishReason: text('finish_reason').$type<Static<typeof FinishReason>>(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.conversationId, table.id] }),
    index('messages_in_order').on(table.accountId, table.conversationId, table.position, table.id),
  ],
);

/** Requests to stop a request that another process runs. Each row exists for seconds. */
export const stopRequests = pgTable(
  'stop_requests',
  {
    accountId: accountId(),
    requestId: uuid('request_id').notNull(),
    createdAt: instant('created_at').notNull(),
    /** Null until the process that runs the request has responded. */
    wasStopped: boolean('was_stopped'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.requestId] }),
    index('stop_requests_by_age').on(table.createdAt),
  ],
);

/** Stored responses of the Responses API, kept for 30 days. */
export const storedResponses = pgTable(
  'stored_responses',
  {
    accountId: accountId(),
    /** The ID of the request. */
    id: uuid('id').notNull(),
    keyId: uuid('key_id'),
    previousId: uuid('previous_id'),
    /** JSON: the input items of this request alone. */
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
