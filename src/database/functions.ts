/**
 * Installs `drizzle/functions` when they change. Replicas share them, so the highest revision wins. An old replica that
 * restarts must not restore old functions. docs/decisions/0007-admission-in-sql.md.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { projectRoot } from '../project.ts';
import { type Db, rowsOf } from './client.ts';

const SETTING = 'ledger_functions';

function read(): { statements: string[]; revision: number; digest: string } {
  const text = readFileSync(new URL('drizzle/functions/ledger.sql', projectRoot), 'utf8');
  const [, revision] = /^-- Revision (\d+)\./.exec(text) ?? [];
  if (revision === undefined)
    throw new Error('drizzle/functions/ledger.sql does not begin with its revision.');
  return {
    statements: text.split('--> statement-breakpoint'),
    revision: Number(revision),
    digest: createHash('sha256').update(text).digest('hex'),
  };
}

/** Installs the functions, unless the database has these or newer ones. The caller must hold the migration lock. */
export async function installFunctions(db: Db): Promise<void> {
  const { digest, revision, statements } = read();
  await db.transaction(async (tx) => {
    const [row] = await rowsOf<{ value: string }>(
      tx,
      sql`select value from settings where name = ${SETTING}`,
    );
    const [installedRevision = '0', installedDigest] = row?.value.split(' ') ?? [];
    if (Number(installedRevision) > revision || installedDigest === digest) return;
    for (const statement of statements) await tx.execute(sql.raw(statement));
    await tx.execute(sql`
      insert into settings (name, value) values (${SETTING}, ${`${revision} ${digest}`})
      on conflict (name) do update set value = excluded.value`);
  });
}
