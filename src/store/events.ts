/** The account's audit trail. Contract section 1. */
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { AccountEventType } from '../../schemas/events.ts';
import type { Db } from './client.ts';
import { accountEvents } from './tables.ts';

/** Where a request came from; null for what the operator or the service does by itself. */
export type EventSource = { address: string; userAgent: string } | null;

export type NewAccountEvent = {
  accountId: string;
  type: AccountEventType;
  from: EventSource;
  /** The key that it is about. */
  keyId?: string;
  /** What changed, in a few words: a key's name, a plan. Never a secret. */
  detail?: string;
};

/** Records what was done, in the transaction that does it where there is one. */
export async function recordEvent(
  db: Db,
  { accountId, detail, from, keyId, type }: NewAccountEvent,
): Promise<void> {
  await db.insert(accountEvents).values({
    accountId,
    id: uuidv7(),
    at: sql`now()`,
    type,
    address: from?.address ?? null,
    userAgent: from?.userAgent ?? null,
    keyId: keyId ?? null,
    detail: detail ?? null,
  });
}
