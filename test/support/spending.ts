/** Reads charges from the ledger. */
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

/** Returns the latest charge of an account. Throws if there is none. */
export async function lastCharge({ database }: TestService, accountId: string): Promise<LedgerRow> {
  const [row] = await rowsOf<LedgerRow>(
    database.db,
    sql`select state, status, code, units, model, input_tokens, output_tokens from requests
        where account_id = ${accountId} order by admitted_at desc, id desc limit 1`,
  );
  if (row === undefined) throw new Error('There is no charge.');
  return row;
}

/** Waits until the latest charge of an account has the values in `wanted`. Returns the charge. */
export async function lastChargeBecomes(
  service: TestService,
  accountId: string,
  wanted: Partial<LedgerRow>,
  withinMs?: number,
): Promise<LedgerRow> {
  let row = await lastCharge(service, accountId);
  await eventually(
    `the latest charge has ${JSON.stringify(wanted)}`,
    async () => {
      row = await lastCharge(service, accountId);
      return Object.entries(wanted).every(([name, value]) => row[name as keyof LedgerRow] === value);
    },
    withinMs,
  );
  return row;
}
