/** Limits of API keys, for the service and the dashboard. Contract section 3. */

/** Per account. */
export const MAX_ACTIVE_KEYS = 5;
/** In the list of expired and revoked keys. */
export const MAX_INACTIVE_KEYS = 100;
/** Per key, in `allowed_origins`. */
export const MAX_ORIGINS = 10;
