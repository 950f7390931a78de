/** Calls the functions documented in `drizzle/functions/ledger.sql`. Each takes a batch that is safe to repeat. */
import { and, eq, sql } from 'drizzle-orm';
import type { Meter } from '../../schemas/plans.ts';
import { deleteUpTo } from '../database/batches.ts';
import type { Database, Db } from '../database/client.ts';
import { idempotencyKeys, type MessageImage, type RequestDetails } from '../database/tables.ts';

/** A charge to admit. The caller creates `id`, so that the ledger recognizes a repeated statement. */
export type ChargeRow = {
  id: string;
  account_id: string;
  key_id: string | null;
  endpoint: string;
  meter: Meter;
  units: number;
  /** The requested model. A failed request records no other. */
  model?: string;
  /** The most tokens that the request can use. The ledger reserves them if the plan limits tokens. */
  tokens?: number;
  /** The credential that owns the idempotency key: a key's ID, or the nil UUID for the web. */
  owner?: string;
  idempotency_key?: string;
  fingerprint?: string;
};

export type ClaimObstacle = 'mismatch' | 'running' | 'replay' | 'resume' | 'exhausted';

export type Decision = {
  id: string;
  /** `unreserved`: a charge to resume whose tokens do not fit. */
  outcome: 'admitted' | 'refused' | 'unreserved' | ClaimObstacle;
  day: string;
  /** The counter after the charge, without held units; 0 if the ledger did not check the quota. */
  used: number;
  ceiling: number | null;
  /** The token counter, including reservations; null if the plan does not limit tokens. */
  tokens: { used: number; ceiling: number } | null;
  readAt: Date;
};

export type ChargeKey = { account_id: string; day: string; id: string };

export type TurnRow = {
  conversation_id: string;
  key_id: string | null;
  is_new: boolean;
  replaced_id?: string;
  title: string;
  question_id: string;
  question: string;
  images?: MessageImage[];
  /** A JSON array of `data:` URLs. */
  image_urls?: string;
  answer_id: string;
  answer: string;
  model: string;
  is_stopped: boolean;
  finish_reason?: string;
};

export type ResponseRow = { key_id: string | null; previous_id: string | null; input: string; body: string };

/** A step of a charge. `kind` names the states before and after it. */
export type SettlementRow = ChargeKey & {
  kind: 'charge' | 'uncharged' | 'final' | 'complete' | 'rerun' | 'refund';
  /** Set for `charge` and `uncharged`: a charge that is not in the ledger yet. */
  charge?: Pick<ChargeRow, 'key_id' | 'endpoint' | 'meter' | 'units'> & { admitted_at: string };
  status: number;
  code: string | null;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  latency_ms: number;
  details?: RequestDetails;
  turn?: TurnRow;
  response?: ResponseRow;
  /** Empty if our side failed, so that the next request with the idempotency key resumes the charge. */
  answer?: { status: number; body: string } | Record<string, never>;
  attempt?: string;
};

/** plan → meter → ceiling. Null means no ceiling. */
export type Ceilings = Record<string, Record<Meter, number | null> & { tokens?: number | null }>;

/** The result of a settlement. `other`: another process settled the charge, or it does not exist. */
export type SettleResult =
  | { outcome: 'settled'; used?: number }
  | { outcome: 'refused'; used: number; ceiling: number }
  | { outcome: 'other' };

/** Units of a process's in-flight requests that are not in the ledger yet, on one day. */
export type HeldUnits = (
  charge: Pick<ChargeRow, 'account_id' | 'meter'>,
) => { day: string; units: number } | undefined;

export type AdmissionRules = {
  ceilings: Ceilings;
  /** The plan whose ceilings apply to accounts on a discontinued plan. */
  standard: string;
  holder: string;
};

/** The SQLSTATE if the process that admits a charge has no live lease. */
export const NO_LEASE = 'PL001';

type CounterRow = { account_id: string; meter: Meter | 'tokens'; held?: number; held_day?: string };

function countersOf(charges: readonly ChargeRow[], held: HeldUnits): CounterRow[] {
  const counters = new Map<string, CounterRow>();
  for (const { account_id, meter, tokens } of charges) {
    const inFlight = held({ account_id, meter });
    const ofProcess = inFlight && { held: inFlight.units, held_day: inFlight.day };
    counters.set(`${account_id}/${meter}`, { account_id, meter, ...ofProcess });
    if (tokens !== undefined) counters.set(`${account_id}/tokens`, { account_id, meter: 'tokens' });
  }
  return [...counters.values()];
}

const nothingHeld: HeldUnits = () => undefined;

/**
 * Admits a batch of charges. One that does not fit also blocks later ones of its account. Returns decisions in any
 * order, for existing accounts. `isRepeated`: the same charges were sent before without a response.
 */
export async function admitCharges(
  database: Database,
  charges: readonly ChargeRow[],
  { ceilings, holder, standard }: AdmissionRules,
  isRepeated: boolean,
  lockTimeoutMs: number,
  held = nothingHeld,
): Promise<Decision[]> {
  type Count = string | number | null;
  type Row = Pick<Decision, 'id' | 'outcome' | 'day'> & {
    used: Count;
    ceiling: Count;
    read_at: string;
    tokens_used: Count;
    tokens_ceiling: Count;
  };
  const rows = await database.run<Row>(
    `select id, outcome, day::text, used, ceiling, to_char(read_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as read_at,
            tokens_used, tokens_ceiling
     from ledger_admit_reserving($1::text::jsonb, $2::text::jsonb, $3::text::jsonb, $4, $5::uuid, $6, $7)`,
    [
      JSON.stringify(charges),
      JSON.stringify(countersOf(charges, held)),
      JSON.stringify(ceilings),
      standard,
      holder,
      isRepeated,
      lockTimeoutMs,
    ],
  );
  return rows.map(({ ceiling, day, id, outcome, read_at: readAt, tokens_ceiling, tokens_used, used }) => ({
    ...{ id, outcome, day },
    used: Number(used ?? 0),
    ceiling: ceiling === null ? null : Number(ceiling),
    tokens:
      tokens_ceiling === null ? null : { used: Number(tokens_used ?? 0), ceiling: Number(tokens_ceiling) },
    readAt: new Date(readAt),
  }));
}

/** Settles a batch. A missing result means that the charge was settled differently or its account no longer exists. */
export async function settleCharges(
  database: Database,
  settlements: readonly SettlementRow[],
  { ceilings, holder, standard }: AdmissionRules,
  isRepeated: boolean,
  lockTimeoutMs: number,
): Promise<Map<string, SettleResult>> {
  type Row = { id: string; outcome: 'settled' | 'refused'; used: string | null; ceiling: string | null };
  const rows = await database.run<Row>(
    `select id, outcome, used::text, ceiling::text
     from ledger_settle($1::text::jsonb, $2::text::jsonb, $3, $4::uuid, $5, $6)`,
    [JSON.stringify(settlements), JSON.stringify(ceilings), standard, holder, isRepeated, lockTimeoutMs],
  );
  return new Map(
    rows.map(({ ceiling, id, outcome, used }) => [
      id,
      outcome === 'refused'
        ? { outcome, used: Number(used), ceiling: Number(ceiling) }
        : { outcome, ...(used !== null && { used: Number(used) }) },
    ]),
  );
}

export async function renewLease(database: Database, holder: string, seconds: number): Promise<void> {
  await database.run('select ledger_renew_lease($1::uuid, $2)', [holder, seconds]);
}

/** Refunds charges that processes with expired leases left admitted. Returns how many. */
export async function sweepCharges(database: Database, atMost: number): Promise<number> {
  const [row] = await database.run<{ swept: number }>('select ledger_sweep($1) as swept', [atMost]);
  return row?.swept ?? 0;
}

/** Equal keys of different credentials never collide. */
export type IdempotencyKey = {
  accountId: string;
  /** A key's ID, or the nil UUID for the web. */
  owner: string;
  key: string;
};

export type IdempotentRequest = {
  fingerprint: string;
  /** The request ID of the charge, and its day. */
  requestId: string;
  day: string;
  /** The stored response. Null while the request runs and after an interruption. */
  answer: { status: number; body: string } | null;
};

/** Matches the claim of an idempotency key during its 24 hours. */
export const isOfKey = ({ accountId, key, owner }: IdempotencyKey) =>
  and(
    eq(idempotencyKeys.accountId, accountId),
    eq(idempotencyKeys.owner, owner),
    eq(idempotencyKeys.key, key),
    sql`created_at > ledger_now() - interval '24 hours'`,
  );

export async function findIdempotentRequest(
  db: Db,
  key: IdempotencyKey,
): Promise<IdempotentRequest | undefined> {
  const [row] = await db
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      requestId: idempotencyKeys.requestId,
      day: idempotencyKeys.day,
      status: idempotencyKeys.status,
      body: idempotencyKeys.body,
    })
    .from(idempotencyKeys)
    .where(isOfKey(key));
  if (row === undefined) return undefined;
  const { body, status, ...request } = row;
  return { ...request, answer: status === null || body === null ? null : { status, body } };
}

export const deleteOldIdempotencyKeys = (db: Db, signal?: AbortSignal): Promise<void> =>
  deleteUpTo(db, idempotencyKeys.createdAt, sql`ledger_now() - interval '24 hours'`, signal);
