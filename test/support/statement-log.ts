/** The statements that a Postgres has received, from its log. */
import fs from 'node:fs';
import path from 'node:path';
import { type Postgres, startPostgres } from './postgres.ts';

/** A part of the statement that looks up a key. */
export const KEY_LOOK_UP = 'from key_secrets s';

export type StatementLog = {
  server: Postgres;
  /** The whole log, with statements and parameters. */
  text(): string;
  /** Marks the current end of the log. `text` is the log after the mark, and `count` counts occurrences in it. */
  mark(): { text(): string; count(part: string): number };
};

/** Starts a Postgres that logs every statement. `further` are more settings. Drop the server at the end of the test. */
export async function startLoggingPostgres(further: Record<string, string> = {}): Promise<StatementLog> {
  const settings = { log_statement: 'all', log_line_prefix: '%a|', ...further };
  const server = await startPostgres({ settings });
  const file = path.join(server.socketDir, 'log');
  const text = () => fs.readFileSync(file, 'utf8');
  const mark = () => {
    const from = fs.statSync(file).size;
    const since = () => fs.readFileSync(file).subarray(from).toString();
    return { text: since, count: (part: string) => since().split(part).length - 1 };
  };
  return { server, text, mark };
}
