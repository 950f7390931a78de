/** The limits of API keys, for the service and the dashboard. Contract section 3. */

/** Most active keys of an account. */
export const MAX_ACTIVE_KEYS = 5;
/** Most entries of a key's `allowed_origins`. */
export const MAX_ORIGINS = 10;
