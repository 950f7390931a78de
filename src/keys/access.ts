/** Decides what a key may do. Contract section 3. */
import type { Scope } from '../../schemas/keys.ts';
import { ApiError } from '../errors.ts';
import type { StoredSecret } from '../store/keys.ts';

/** A key whose secret is right, even if it may no longer be used. */
export type IdentifiedKey = Pick<
  StoredSecret,
  'accountId' | 'keyId' | 'plan' | 'scopes' | 'allowedOrigins' | 'isSuspended'
> & {
  /** The key was revoked, the secret's grace period ended, or the account was deleted. */
  isRevoked: boolean;
  isExpired: boolean;
};

/** The key itself is active, and works again once the operator resumes the account. */
export const keyOfSuspendedAccount = (): ApiError =>
  new ApiError('apiKeyRevoked', {
    message:
      'The operator suspended the account that this API key belongs to. The key works again when the operator resumes the account.',
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

/** Without `scope`, any key will do. Throws `insufficientScope`. */
export function assertScope({ scopes }: IdentifiedKey, scope: Scope | undefined): void {
  if (scope === undefined || scopes.includes(scope)) return;
  throw insufficientScope(scopes, scope);
}

/** Keys with allowed origins are public: every visitor of the pages can copy them, so they may not list anything. */
export function assertMayList({ allowedOrigins }: IdentifiedKey): void {
  if (allowedOrigins.length > 0) throw new ApiError('listingNotAllowed');
}
