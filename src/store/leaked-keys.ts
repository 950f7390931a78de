/** Ends keys by the raw keys that were found of them. Contract sections 1 and 3. */
import { and, asc, eq, gt, inArray, isNull, or, sql } from 'drizzle-orm';
import type { Db } from './client.ts';
import { recordEvent } from './events.ts';
import { isActive } from './keys.ts';
import { apiKeys, keySecrets } from './tables.ts';

type FoundSecret = { publicId: string; digest: Buffer };

/** What is ended is told to the key's owner; who found it is not. */
const NOBODY = null;

/**
 * Revokes the keys whose current secret was found. Of a secret that was replaced and still works only the rest of its
 * grace ends: the new one was not found. What does not exist or is over already is passed over.
 *
 * @returns the accounts whose keys were ended
 */
export function revokeLeakedKeys(db: Db, found: readonly FoundSecret[]): Promise<string[]> {
  return db.transaction(async (tx) => {
    // In one order, so that two reports cannot wait for each other.
    const leaked = await tx
      .select({ key: apiKeys, secret: keySecrets })
      .from(keySecrets)
      .innerJoin(apiKeys, and(eq(apiKeys.accountId, keySecrets.accountId), eq(apiKeys.id, keySecrets.keyId)))
      .where(
        and(
          inArray(
            keySecrets.publicId,
            found.map(({ publicId }) => publicId),
          ),
          inArray(
            keySecrets.digest,
            found.map(({ digest }) => digest),
          ),
          or(isNull(keySecrets.endsAt), gt(keySecrets.endsAt, sql`now()`)),
          isActive(),
        ),
      )
      .orderBy(asc(apiKeys.accountId), asc(apiKeys.id))
      .for('no key update', { of: apiKeys });
    for (const { key, secret } of leaked) {
      const { accountId, id: keyId, name } = key;
      const isCurrent = key.publicId === secret.publicId;
      if (isCurrent) {
        await tx
          .update(apiKeys)
          .set({ revokedAt: sql`now()` })
          .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, keyId)));
      } else {
        await tx
          .update(keySecrets)
          .set({ endsAt: sql`now()` })
          .where(eq(keySecrets.publicId, secret.publicId));
      }
      const detail = isCurrent ? name : `${name}: a replaced secret`;
      await recordEvent(tx, { accountId, type: 'keyReportedLeaked', from: NOBODY, keyId, detail });
    }
    return [...new Set(leaked.map(({ key }) => key.accountId))];
  });
}
