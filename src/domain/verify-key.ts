/** Decides whether a Bearer credential may do what it asks for. Contract section 3. */
import type { Scope } from '../../schemas/keys.ts';
import { ApiError, type ErrorOptions } from '../errors.ts';
import type { Db } from '../store/client.ts';
import { findSecret, touchKey } from '../store/keys.ts';
import { parseApiKey, sameDigest } from './api-key.ts';

const invalidToken: ErrorOptions = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } };

/** The refusal of a credential whose account was deleted since it was verified; `keyId` null is the web. */
export const accountGone = (keyId: string | null): ApiError =>
  keyId === null ? new ApiError('sessionRequired') : new ApiError('apiKeyRevoked', invalidToken);

/**
 * Verifies a key.
 *
 * @param rawKey - as the client sent it; a malformed one is refused without a query
 * @param scope - what the route needs; undefined where any key will do
 * @returns whose key it is
 * @throws ApiError `invalidApiKey`, `apiKeyRevoked`, `apiKeyExpired` or `insufficientScope`
 */
export async function verifyApiKey(
  db: Db,
  rawKey: string,
  scope: Scope | undefined,
): Promise<{ accountId: string; keyId: string }> {
  const parsed = parseApiKey(rawKey);
  if (parsed === null) throw new ApiError('invalidApiKey', invalidToken);
  const stored = await findSecret(db, parsed.publicId);
  if (stored === undefined || !sameDigest(stored.digest, parsed.digest))
    throw new ApiError('invalidApiKey', invalidToken);
  if (stored.isRevoked) throw new ApiError('apiKeyRevoked', invalidToken);
  if (stored.isExpired) throw new ApiError('apiKeyExpired', invalidToken);
  if (scope !== undefined && !stored.scopes.includes(scope)) {
    throw new ApiError('insufficientScope', {
      message: `This API key does not have the scope \`${scope}\`. It has: ${stored.scopes.join(', ')}. Create a key with the scope in the dashboard.`,
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
      caller: { accountId: stored.accountId, keyId: stored.keyId },
    });
  }
  if (!stored.wasUsedThisMinute) await touchKey(db, stored.accountId, stored.keyId);
  return { accountId: stored.accountId, keyId: stored.keyId };
}
