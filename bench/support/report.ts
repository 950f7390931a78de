import fs from 'node:fs';
import os from 'node:os';
import postgres from 'postgres';

/** A Markdown table whose columns also align in a terminal. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** The environment of the results: processors, memory, Node.js, and the durability of database commits. */
export async function machine(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [settings] = await sql`SELECT current_setting('server_version') AS version,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit`;
  await sql.end();
  const [cpu] = os.cpus();
  return [
    `- ${os.availableParallelism()} CPUs (${cpu?.model.trim() || 'model unknown'}), ${(os.totalmem() / 1e9).toFixed(0)} GB of memory, ${os.type()}, shared by all processes of the benchmark`,
    `- Node ${process.version}`,
    `- Postgres ${settings?.version}, fsync ${settings?.fsync}, synchronous_commit ${settings?.synchronous_commit}`,
  ].join('\n');
}

/** Milliseconds, with significant digits only. */
export const ms = (value: number) => value.toFixed(Math.abs(value) < 10 ? 2 : 1);

/** Such as `2026-01-31`, in UTC. */
export const today = () => new Date().toISOString().slice(0, 10);

/** Prints a report, and writes it to `bench/results`. */
export function writeResult(name: string, report: string): void {
  process.stdout.write(report);
  fs.mkdirSync('bench/results', { recursive: true });
  fs.writeFileSync(`bench/results/${name}`, report);
}
