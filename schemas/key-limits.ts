/** Limits of API keys, for the service and the dashboard. Contract section 3. */

/** Most active keys of an account. */
export const MAX_ACTIVE_KEYS = 5;
/** Most keys in the list of expired and revoked keys. */
export const MAX_INACTIVE_KEYS = 100;
/** Most origins in a key's `allowed_origins`. */
export const MAX_ORIGINS = 10;
