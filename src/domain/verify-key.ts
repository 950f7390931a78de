/** Decides whether a Bearer credential may do what it asks for. Contract section 3. */
import type { Scope } from '../../schemas/keys.ts';
import { ApiError } from '../errors.ts';
import type { StoredSecret } from '../store/keys.ts';

/** A right key, whether or not it may still be used. */
export type IdentifiedKey = Pick<
  StoredSecret,
  'accountId' | 'keyId' | 'plan' | 'scopes' | 'allowedOrigins'
> & {
  /** The key was revoked, the secret's grace is over, or the account was deleted. */
  isRevoked: boolean;
  isExpired: boolean;
};

/** The refusal of a credential whose account was deleted since it was verified; `keyId` null is the web. */
export const accountGone = (keyId: string | null): ApiError =>
  keyId === null ? new ApiError('sessionRequired') : new ApiError('apiKeyRevoked');

/** The refusal of a credential that is malformed, unknown or wrong. */
export const invalidApiKey = (): ApiError => new ApiError('invalidApiKey');

/** @throws ApiError `apiKeyRevoked`, `apiKeyExpired` */
export function assertActive({ isExpired, isRevoked }: IdentifiedKey): void {
  if (isRevoked) throw new ApiError('apiKeyRevoked');
  if (isExpired) throw new ApiError('apiKeyExpired');
}

/** The refusal of a key that lacks what the route needs. */
export const insufficientScope = (scopes: readonly Scope[], needed: Scope): ApiError =>
  new ApiError('insufficientScope', {
    message: `This API key does not have the scope \`${needed}\`. Its scopes: ${scopes.join(', ')}. Create a key with that scope in the dashboard.`,
    neededScope: needed,
  });

/**
 * @param scope - what the route needs; undefined where any key will do
 * @throws ApiError `insufficientScope`
 */
export function assertScope({ scopes }: IdentifiedKey, scope: Scope | undefined): void {
  if (scope === undefined || scopes.includes(scope)) return;
  throw insufficientScope(scopes, scope);
}

/**
 * A key with allowed origins is public: every visitor of its pages can copy it, so that it may list nothing.
 *
 * @throws ApiError `listingNotAllowed`
 */
export function assertMayList({ allowedOrigins }: IdentifiedKey): void {
  if (allowedOrigins.length > 0) throw new ApiError('listingNotAllowed');
}
