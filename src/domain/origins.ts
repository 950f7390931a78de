/** Allowed origins of a key: https origins, normalized to the form that browsers send. Contract section 4. */

import { parsedUrl } from './parsed-url.ts';

/** The entry is not an https origin. The message quotes it and says what to send instead. */
export class OriginError extends Error {
  override readonly name = 'OriginError';
  readonly reason: OriginFault;

  constructor(reason: OriginFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

const example = 'such as https://app.example.com or https://app.example.com:8443';

/** Excludes a trailing dot, because the URL parser drops it from an IPv4 address. */
const originShape = /^https:\/\/(\[[0-9a-f:.]+\]|[^\s/\\?#@:*%[\]]+(?<!\.))(:\d{1,5})?$/i;

/** The URL parser drops control characters, and maps lookalike characters to the asterisk. */
const hasForbidden = (entry: string, hostname: string) => /\p{Cc}/u.test(entry) || hostname.includes('*');

/** Browsers treat a host with a trailing dot as a different host. Other empty labels are invalid. */
const hasEmptyLabel = (hostname: string) => hostname.split('.').includes('');

const devProxy =
  'Pages can use a key only from https origins. During development, proxy API calls through your dev server. With Vite, ' +
  '`server.proxy` forwards `/api/v1` to this service, adds the `Authorization` header, and removes `Origin`. ' +
  'For the full setup, see /docs/guides/browser-keys#develop-on-localhost-with-a-browser-key';

/** The text after the quoted entry, by the `reason` of the API's error. */
const messages = {
  origin_localhost: `is not an https origin. ${devProxy}.`,
  origin_http: 'is not an https origin. Use https.',
  origin_wildcard: `contains a wildcard. List each origin, ${example}.`,
  origin_slash: 'ends in a slash. Remove it.',
  origin_dot: 'ends in a dot. Remove it.',
  origin_user: 'contains a user name. Remove it.',
  origin_path: `contains a path. Leave out the path to get an origin, ${example}.`,
  origin_invalid: `is not an https origin. An origin consists of https://, a host, and optionally a port, ${example}.`,
};
export type OriginFault = keyof typeof messages;

function faultOf(entry: string): OriginFault {
  if (/^http:\/\/([^/]*\.)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/i.test(entry))
    return 'origin_localhost';
  if (/^http:\/\//i.test(entry)) return 'origin_http';
  if (entry.includes('*')) return 'origin_wildcard';
  if (/^https:\/\/[^/]+\/$/i.test(entry)) return 'origin_slash';
  if (/^https:\/\/[^/]+\.(:\d+)?$/i.test(entry)) return 'origin_dot';
  if (/^https:\/\/[^/]*@/i.test(entry)) return 'origin_user';
  if (/^https:\/\/[^/]+[/?#]/i.test(entry)) return 'origin_path';
  return 'origin_invalid';
}

function refusal(entry: string): OriginError {
  const shown = JSON.stringify(entry.length > 100 ? `${entry.slice(0, 100)}…` : entry);
  const fault = faultOf(entry);
  return new OriginError(fault, `${shown} ${messages[fault]}`);
}

/** Normalizes an entry to lowercase IDNA without `:443`. Throws OriginError if it is not an https origin. */
export function normalizeOrigin(entry: string): string {
  const url = originShape.test(entry) ? parsedUrl(entry) : undefined;
  if (url === undefined || hasEmptyLabel(url.hostname) || hasForbidden(entry, url.hostname))
    throw refusal(entry);
  return url.origin;
}

export const normalizeOrigins = (entries: readonly string[]): string[] => [
  ...new Set(entries.map(normalizeOrigin)),
];

/** Whether an `Origin` header could match a normalized entry. Browsers send no other spelling. */
export function isListable(origin: string): boolean {
  try {
    return normalizeOrigin(origin) === origin;
  } catch {
    return false;
  }
}
