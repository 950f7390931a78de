/** Allowed origins of a key: an https origin, normalised to what a browser sends. Contract section 4. */

/** An entry that is no https origin; the message names it and says what to send instead. */
export class OriginError extends Error {
  override readonly name = 'OriginError';
}

const example = 'such as https://app.example.com or https://app.example.com:8443';

/** `https://`, a host without user info, an optional port, and nothing behind it. */
const originShape = /^https:\/\/(\[[0-9a-f:.]+\]|[^\s/\\?#@:*%[\]]+)(:\d{1,5})?$/i;

const devProxy =
  'Browser keys work from https origins only. In development, call the service through the dev server instead of from the page: ' +
  'with Vite, set `server.proxy = { "/api": "<the service>" }` and let the proxy add the key';

function refusal(entry: string): string {
  const shown = JSON.stringify(entry.length > 100 ? `${entry.slice(0, 100)}…` : entry);
  if (/^http:\/\/(localhost|127\.|\[::1\])/i.test(entry))
    return `${shown} is not an https origin. ${devProxy}.`;
  if (/^http:\/\//i.test(entry)) return `${shown} is not an https origin: http is not accepted.`;
  if (entry.includes('*')) return `${shown} holds a wildcard. List each origin, ${example}.`;
  if (/^https:\/\/[^/]+\/$/i.test(entry)) return `${shown} ends in a slash. Leave it out.`;
  return `${shown} is not an https origin. An entry is https, a host and optionally a port, ${example}.`;
}

/**
 * Normalises one entry: lower-case, IDNA-encoded, without `:443`.
 *
 * @throws OriginError when it is anything but an https origin
 */
export function normaliseOrigin(entry: string): string {
  const url = originShape.test(entry) && URL.canParse(entry) ? new URL(entry) : undefined;
  if (url === undefined || url.hostname === '' || url.hostname.endsWith('.'))
    throw new OriginError(refusal(entry));
  return url.origin;
}

/** Normalises a list; duplicates collapse. */
export const normaliseOrigins = (entries: readonly string[]): string[] => [
  ...new Set(entries.map(normaliseOrigin)),
];
