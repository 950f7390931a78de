/**
 * Tables that grow with use are keyed by account first, so that they can be distributed by account. None has a foreign
 * key to `accounts`: all charges of a busy account would lock its row (docs/decisions/0006-no-foreign-keys.md). The
 * partitions of `requests` and the ledger's functions are hand-written SQL in `drizzle/`.
 */
import { sql } from 'drizzle-orm';
import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { tsvector } from './columns.ts';

export * from './tables/accounts.ts';
export * from './tables/chat.ts';
export * from './tables/ledger.ts';
export * from './tables/webhooks.ts';

export const settings = pgTable('settings', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** Unused. The next minor version drops it: until then, replicas of the previous version read it. Decision 0023. */
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
