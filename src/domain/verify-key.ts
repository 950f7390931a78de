/** Decides whether a Bearer credential may do what it asks for. Contract section 3. */
import type { Scope } from '../../schemas/keys.ts';
import { ApiError, type ErrorOptions } from '../errors.ts';
import type { Db } from '../store/client.ts';
import { findSecret, type StoredSecret } from '../store/keys.ts';
import { parseApiKey, sameDigest } from './api-key.ts';

const invalidToken: ErrorOptions = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } };

/** The refusal of a credential whose account was deleted since it was verified; `keyId` null is the web. */
export const accountGone = (keyId: string | null): ApiError =>
  keyId === null ? new ApiError('sessionRequired') : new ApiError('apiKeyRevoked', invalidToken);

/** The refusal of a credential that is malformed, unknown or wrong. */
export const invalidApiKey = (): ApiError => new ApiError('invalidApiKey', invalidToken);

/**
 * Finds whose key a credential is, whether or not it may still be used.
 *
 * @param rawKey - as the client sent it; a malformed one is refused without a query
 * @returns undefined where there is no such key
 * @throws ApiError `invalidApiKey` where it is malformed
 */
export async function identifyApiKey(db: Db, rawKey: string): Promise<StoredSecret | undefined> {
  const parsed = parseApiKey(rawKey);
  if (parsed === null) throw invalidApiKey();
  const stored = await findSecret(db, parsed.publicId);
  return stored !== undefined && sameDigest(stored.digest, parsed.digest) ? stored : undefined;
}

/** @throws ApiError `apiKeyRevoked`, `apiKeyExpired` */
export function assertActive({ isExpired, isRevoked }: StoredSecret): void {
  if (isRevoked) throw new ApiError('apiKeyRevoked', invalidToken);
  if (isExpired) throw new ApiError('apiKeyExpired', invalidToken);
}

/**
 * @param scope - what the route needs; undefined where any key will do
 * @throws ApiError `insufficientScope`
 */
export function assertScope({ scopes }: StoredSecret, scope: Scope | undefined): void {
  if (scope === undefined || scopes.includes(scope)) return;
  throw new ApiError('insufficientScope', {
    message: `This API key does not have the scope \`${scope}\`. It has: ${scopes.join(', ')}. Create a key with the scope in the dashboard.`,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}
