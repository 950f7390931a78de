import { customType, timestamp, uuid } from 'drizzle-orm/pg-core';

/** Millisecond precision as in JSON, so that a time read from the database equals the stored one. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });

export const accountId = () => uuid('account_id').notNull();

export const bytea = customType<{ data: Buffer; driverData: Uint8Array }>({
  dataType: () => 'bytea',
  fromDriver: (value) => Buffer.from(value),
});

export const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });
