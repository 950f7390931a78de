/** Compares Parley's charges with the responses that the load client received. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadResult } from './load.ts';
import type { Row } from './rows.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Truncates the output of the audit, which lists each difference. */
const MAX_WORDS = 1000;

type Used = Record<'chat' | 'images' | 'search', number>;
type Reading = { used: Used; resetsAt: string };

export type LedgerCheck = {
  /** Reads today's usage. */
  read(): Promise<Reading>;
  /** Returns the problems after loads. Empty if every response was charged once and the audit is clean. */
  problems(row: Row, before: Reading, loads: LoadResult[]): Promise<string[]>;
  /** Returns the differences that the audit finds. */
  audit(): string[];
};

/** @param database - the environment variables that locate the database for the audit */
export function ledgerOf(service: {
  origin: string;
  key: string;
  database: Record<string, string>;
}): LedgerCheck {
  async function read(): Promise<Reading> {
    const response = await fetch(`${service.origin}/api/v1/usage`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    if (!response.ok) throw new Error(`GET /usage: ${response.status}`);
    return (await response.json()) as Reading;
  }

  function audit(): string[] {
    try {
      execFileSync(process.execPath, ['dist/src/commands/audit.js'], {
        cwd: root,
        env: { PATH: process.env.PATH, ...service.database },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return [];
    } catch (error) {
      const { stderr, stdout } = error as { stdout?: Buffer; stderr?: Buffer };
      return [`the audit failed: ${`${stdout ?? ''}${stderr ?? error}`.trim().slice(0, MAX_WORDS)}`];
    }
  }

  return {
    audit,
    read,
    async problems(row, before, loads) {
      const after = await read();
      if (after.resetsAt !== before.resetsAt) return ['the run crossed 00:00 UTC. Run it again'];
      const delivered = loads.reduce((sum, load) => sum + load.delivered, 0);
      const meters = Object.keys(after.used).filter((meter) => meter !== 'tokens') as (keyof Used)[];
      const wrong = meters.flatMap((meter) => {
        const charged = after.used[meter] - before.used[meter];
        const expected = meter === row.meter ? delivered : 0;
        return charged === expected ? [] : [`${meter}: ${expected} delivered, ${charged} charged`];
      });
      return [...wrong, ...audit()];
    },
  };
}
