/** Decides what an API key may do. Contract section 3. */
import type { Scope } from '../../schemas/keys.ts';
import { ApiError } from '../errors.ts';
import type { StoredSecret } from '../store/keys.ts';

/** A key whose secret is correct. The key may be revoked or expired. */
export type IdentifiedKey = Pick<
  StoredSecret,
  'accountId' | 'keyId' | 'plan' | 'scopes' | 'allowedOrigins' | 'isSuspended'
> & {
  /** The key was revoked, the secret's grace period ended, or the account was deleted. */
  isRevoked: boolean;
  isExpired: boolean;
};

/** The error for an active key that works again once the operator resumes its account. */
export const keyOfSuspendedAccount = (): ApiError =>
  new ApiError('apiKeyRevoked', {
    message:
      'The operator suspended the account that this API key belongs to. The key works again when the operator reactivates the account.',
  });

export const invalidApiKey = (): ApiError => new ApiError('invalidApiKey');

/** @throws ApiError `apiKeyRevoked`, `apiKeyExpired` */
export function assertActive({ isExpired, isRevoked, isSuspended }: IdentifiedKey): void {
  if (isRevoked) throw new ApiError('apiKeyRevoked');
  if (isSuspended) throw keyOfSuspendedAccount();
  if (isExpired) throw new ApiError('apiKeyExpired');
}

export const insufficientScope = (scopes: readonly Scope[], needed: Scope): ApiError =>
  new ApiError('insufficientScope', {
    message: `This API key does not have the \`${needed}\` scope. Its scopes: ${scopes.join(', ')}. Create a key with that scope in the dashboard.`,
    neededScope: needed,
  });

/** Without `scope`, any key passes. Throws ApiError `insufficientScope`. */
export function assertScope({ scopes }: IdentifiedKey, scope: Scope | undefined): void {
  if (scope === undefined || scopes.includes(scope)) return;
  throw insufficientScope(scopes, scope);
}

/** Rejects keys with allowed origins. They are public: every visitor of a page can copy them and would see the list. */
export function assertMayList({ allowedOrigins }: IdentifiedKey): void {
  if (allowedOrigins.length > 0) throw new ApiError('listingNotAllowed');
}
