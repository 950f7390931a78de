/** What a Postgres was asked, by its own log. */
import fs from 'node:fs';
import path from 'node:path';
import { type Postgres, startPostgres } from './postgres.ts';

/** The look-up of a key, in the text of its statement. */
export const KEY_LOOK_UP = 'from key_secrets s';

export type StatementLog = {
  server: Postgres;
  /** Everything that it was asked, parameters included. */
  text(): string;
  /** What it is asked from here on. */
  mark(): { text(): string; count(part: string): number };
};

/** Starts a Postgres that logs every statement, and has further settings. */
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
