/** pgbench, which comes with Postgres, upserts the same counter as a request. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { findPostgres } from '../../test/support/postgres-binaries.ts';
import type { LoadResult } from './client.ts';

const script = (accounts: number) => `\\set n random(1, ${accounts})
insert into pgbench_counters as c values (:n, current_date, 'chat', 1)
on conflict (account_id, day, meter) do update set used = c.used + 1 where c.used + 1 <= 1000000000 returning used;
`;

/** @returns null if the installation has no pgbench, like the one from the npm registry */
export async function pgbench(
  port: number,
  folder: string,
  { accounts, connections, seconds }: { accounts: number; connections: number; seconds: number },
): Promise<LoadResult | null> {
  const postgres = fs.realpathSync(path.join(findPostgres().bin, 'postgres'));
  const program = path.join(path.dirname(postgres), 'pgbench');
  if (!fs.existsSync(program)) return null;
  const file = path.join(folder, 'upsert.sql');
  fs.writeFileSync(file, script(accounts));
  const prefix = path.join(folder, 'transactions');
  const { stdout } = await promisify(execFile)(program, [
    ...['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-n', '-M', 'prepared', '-f', file],
    ...[
      '-c',
      String(connections),
      '-j',
      '2',
      '-T',
      String(seconds),
      '-l',
      `--log-prefix=${prefix}`,
      'postgres',
    ],
  ]);
  const latencies: number[] = [];
  for (const name of fs.readdirSync(folder).filter((one) => one.startsWith('transactions.'))) {
    const log = path.join(folder, name);
    for (const line of fs.readFileSync(log, 'utf8').split('\n')) {
      const micros = Number(line.split(' ')[2]);
      if (micros > 0) latencies.push(micros / 1000);
    }
    fs.rmSync(log);
  }
  latencies.sort((one, other) => one - other);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  const [, perSecond] = /tps = ([\d.]+) \(without/.exec(stdout) ?? [];
  return { perSecond: Number(perSecond), p50: at(0.5), p99: at(0.99), failed: 0 };
}
