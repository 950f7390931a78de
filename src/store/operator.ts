/** Operators' queries about accounts and keys. Contract section 17. */
import { and, count, desc, eq, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm';
import type { Scope } from '../../schemas/keys.ts';
import type { keyStates } from '../../schemas/operator.ts';
import { type Db, rowsOf } from '../database/client.ts';
import { accounts, apiKeys, sessions } from '../database/tables.ts';
import type { Account } from './accounts.ts';
import { isActive } from './keys.ts';

export type AccountFilter = {
  /** A part of the email address to search for. */
  search?: string;
  plan?: string;
  suspended?: boolean;
  limit: number;
  /** The ID of the last account on the previous page. */
  after?: string | undefined;
};

const contains = (text: string) => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;

/** Newest first. IDs are in the order of creation. */
export function listAccounts(db: Db, filter: AccountFilter): Promise<Account[]> {
  const { after, limit, plan, search, suspended } = filter;
  const conditions: (SQL | undefined)[] = [
    isNull(accounts.deletedAt),
    search === undefined ? undefined : sql`${accounts.emailKey} like ${contains(search)}`,
    plan === undefined ? undefined : eq(accounts.plan, plan),
    suspended ? isNotNull(accounts.suspendedAt) : undefined,
    after === undefined ? undefined : lt(accounts.id, after),
  ];
  return db
    .select()
    .from(accounts)
    .where(and(...conditions))
    .orderBy(desc(accounts.id))
    .limit(limit);
}

export async function countOfAccount(db: Db, id: string): Promise<{ keys: number; sessions: number }> {
  const [keys] = await db
    .select({ count: count() })
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, id), isActive()));
  const [signedIn] = await db.select({ count: count() }).from(sessions).where(eq(sessions.accountId, id));
  return { keys: keys?.count ?? 0, sessions: signedIn?.count ?? 0 };
}

export type FoundKey = {
  accountId: string;
  email: string;
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  state: (typeof keyStates)[number];
  created: string;
  lastUsed: string | null;
};

const KEYS_AT_MOST = 100;
/** The most rows that `costsOfAccount` returns. */
export const MAX_COSTS = 1000;

const iso = (column: SQL): SQL => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Keys with a secret whose public ID begins with `publicId`, including revoked ones. */
export function findKeys(db: Db, publicId: string): Promise<FoundKey[]> {
  return rowsOf<FoundKey>(
    db,
    sql`
      select k.account_id as "accountId", a.email, k.id, k.name, 'parley_' || s.public_id as prefix,
             to_jsonb(k.scopes) as scopes,
             case when a.deleted_at is not null then 'account deleted'
                  when k.revoked_at is not null then 'revoked'
                  when s.ends_at <= now() then 'replaced'
                  when k.expires_at <= now() then 'expired'
                  when a.suspended_at is not null then 'account suspended'
                  else 'active' end as state,
             ${iso(sql`k.created_at`)} as created, ${iso(sql`k.last_used_at`)} as "lastUsed"
      from key_secrets s
      join api_keys k on k.account_id = s.account_id and k.id = s.key_id
      join accounts a on a.id = s.account_id
      where s.public_id >= ${publicId}::text and left(s.public_id, ${publicId.length}::int) = ${publicId}::text
      order by s.public_id
      limit ${KEYS_AT_MOST}::int`,
  );
}

/** What the operator paid for an account's tokens, by UTC day and upstream. Newest first. */
export const costsOfAccount = (
  db: Db,
  id: string,
  days: number,
): Promise<{ day: string; upstream: string; micros: number }[]> =>
  rowsOf(
    db,
    sql`
      select day::text, upstream, micros::float8 as micros from upstream_costs
      where account_id = ${id}::uuid and day > ledger_day(ledger_now()) - ${days}::int
      order by day desc, upstream limit ${MAX_COSTS}::int`,
  );
