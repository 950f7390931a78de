import { eq, sql } from 'drizzle-orm';
import type { Db } from '../database/client.ts';
import { settings } from '../database/tables.ts';

/** Returns a setting. The first process to call this creates the value. */
export async function settingOnce(db: Db, name: string, make: () => string): Promise<string> {
  await db.insert(settings).values({ name, value: make() }).onConflictDoNothing();
  const [row] = await db.select().from(settings).where(eq(settings.name, name));
  if (row === undefined) throw new Error(`The setting ${name} vanished while it was read.`);
  return row.value;
}

export async function readSetting(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.select().from(settings).where(eq(settings.name, name));
  return row?.value;
}

export async function writeSetting(db: Db, name: string, value: string): Promise<void> {
  await db
    .insert(settings)
    .values({ name, value })
    .onConflictDoUpdate({ target: settings.name, set: { value: sql`excluded.value` } });
}
