/** Ends leaked keys. Contract sections 1 and 3. */
import { and, asc, eq, gt, inArray, isNull, or, sql } from 'drizzle-orm';
import type { Db } from '../database/client.ts';
import { apiKeys, keySecrets } from '../database/tables.ts';
import { keyReportedLeaked } from '../domain/notices.ts';
import { recordEvent, wasRecorded } from './events.ts';
import { endNow, isActive } from './keys.ts';

type FoundSecret = { publicId: string; digest: Buffer };

/** Anyone can report a public key repeatedly. Its owner is notified once in this many hours. */
const TOLD_EVERY_HOURS = 24;

/** The event's source. The owner sees what ended, but not who reported it. */
const NOBODY = null;

/**
 * Ends leaked secrets. Keys with allowed origins are public by design: their owners are notified, and nothing ends. For
 * a replaced secret, only its grace period ends. Returns the accounts of all keys found.
 */
export function revokeLeakedKeys(db: Db, found: readonly FoundSecret[]): Promise<string[]> {
  return db.transaction(async (tx) => {
    // A fixed order keeps two reports from deadlocking.
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
      const { accountId, allowedOrigins, id: keyId, name } = key;
      const isCurrent = key.publicId === secret.publicId;
      const detail = isCurrent ? name : `${name}: a replaced secret`;
      if (allowedOrigins.length > 0) {
        if (!(await wasRecorded(tx, accountId, 'publicKeyReported', keyId, TOLD_EVERY_HOURS))) {
          const notice = keyReportedLeaked(key, 'none');
          await recordEvent(tx, {
            accountId,
            type: 'publicKeyReported',
            from: NOBODY,
            keyId,
            detail,
            notice,
          });
        }
        continue;
      }
      if (isCurrent) {
        await tx
          .update(apiKeys)
          .set({ revokedAt: sql`now()` })
          .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, keyId)));
      } else {
        await tx.update(keySecrets).set({ endsAt: endNow }).where(eq(keySecrets.publicId, secret.publicId));
      }
      const notice = keyReportedLeaked(key, isCurrent ? 'key_revoked' : 'old_secret_revoked');
      await recordEvent(tx, { accountId, type: 'keyReportedLeaked', from: NOBODY, keyId, detail, notice });
    }
    return [...new Set(leaked.map(({ key }) => key.accountId))];
  });
}
