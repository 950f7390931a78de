/**
 * Lets an operator's command ask all processes to read `UPSTREAMS_FILE` again. The request is a row in `settings`,
 * which every process with the file polls. Each process adds a row with its outcome. Contract section 15.
 */
import { sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';
import { newId } from '../domain/ids.ts';

export type ReloadOutcome = {
  host: string;
  pid: number;
  /** The reason that the previous upstreams remain in use; null if the file was read. */
  error: string | null;
};

const PREFIX = 'upstreams_reload:';
/** How long rows of a crashed command stay. */
const LEFT_SECONDS = 60;

const answerName = (id: string, process: string) => `${PREFIX}${id}:${process}`;

/** Returns the request's ID. The caller must withdraw the request in the end. */
export async function askToReload(db: Db): Promise<string> {
  const id = newId();
  await db.execute(sql`
    delete from settings where case when starts_with(name, ${PREFIX})
      then (value::json ->> 'at')::float8 < extract(epoch from now()) - ${LEFT_SECONDS}::int else false end`);
  await db.execute(sql`
    insert into settings (name, value)
    values (${PREFIX + id}, json_build_object('at', extract(epoch from now()))::text)`);
  return id;
}

/** The IDs of requests that a process has not answered. */
export async function openReloads(db: Db, process: string): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`select s.name from settings s
        where starts_with(s.name, ${PREFIX}) and s.name not like ${`${PREFIX}%:%`}
          and not exists (select from settings a where a.name = s.name || ':' || ${process}::text)`,
  );
  return rows.map(({ name }) => name.slice(PREFIX.length));
}

export async function answerReload(
  db: Db,
  id: string,
  process: string,
  outcome: ReloadOutcome,
): Promise<void> {
  const value = JSON.stringify({ ...outcome, at: Date.now() / 1000 });
  await db.execute(sql`
    insert into settings (name, value) values (${answerName(id, process)}, ${value}) on conflict (name) do nothing`);
}

/** The outcomes from all live processes; undefined for a process that has not answered. */
export async function reloadOutcomes(db: Db, id: string): Promise<(ReloadOutcome | undefined)[]> {
  const rows = await rowsOf<{ value: string | null }>(
    db,
    sql`select a.value from leases l left join settings a on a.name = ${answerName(id, '')}::text || l.process::text
        where l.expires_at > ledger_now() order by l.process`,
  );
  return rows.map(({ value }) => {
    if (value === null) return undefined;
    const { error, host, pid } = JSON.parse(value) as ReloadOutcome;
    return { host, pid, error };
  });
}

export async function withdrawReload(db: Db, id: string): Promise<void> {
  await db.execute(sql`delete from settings where starts_with(name, ${PREFIX + id})`);
}
