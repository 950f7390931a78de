/** What the ledger says, for tests: by the API, and row by row. */
import { sql } from 'drizzle-orm';
import { rowsOf } from '../../src/database/client.ts';
import type { TestService } from './service.ts';
import { eventually } from './upstream/engine.ts';

export type LedgerRow = {
  state: string;
  status: number | null;
  code: string | null;
  units: number;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
};

/** The last charge of an account. */
export async function lastCharge({ database }: TestService, accountId: string): Promise<LedgerRow> {
  const [row] = await rowsOf<LedgerRow>(
    database.db,
    sql`select state, status, code, units, model, input_tokens, output_tokens from requests
        where account_id = ${accountId} order by admitted_at desc, id desc limit 1`,
  );
  if (row === undefined) throw new Error('Nothing was charged.');
  return row;
}

/** Waits for the last charge to be as it should. */
export async function lastChargeBecomes(
  service: TestService,
  accountId: string,
  wanted: Partial<LedgerRow>,
  withinMs?: number,
): Promise<LedgerRow> {
  let row = await lastCharge(service, accountId);
  await eventually(
    `The last charge becomes ${JSON.stringify(wanted)}`,
    async () => {
      row = await lastCharge(service, accountId);
      return Object.entries(wanted).every(([name, value]) => row[name as keyof LedgerRow] === value);
    },
    withinMs,
  );
  return row;
}
