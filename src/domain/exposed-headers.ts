/** Contract section 4. */
import { rateHeaderNames } from '../rate-headers.ts';

/** Response headers that a page may read. A wildcard would expose none of them to requests with a key. */
export const exposedHeaders = [
  'retry-after',
  'x-should-retry',
  ...rateHeaderNames,
  'x-request-id',
  'request-id',
  'idempotency-replayed',
  'x-parley-ignored-fields',
  'x-parley-attempts',
  'www-authenticate',
].join(', ');
