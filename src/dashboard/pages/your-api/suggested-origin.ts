/** Suggests the origin that a user probably meant after pasting the URL of a page. */
import { isListable } from '../../../domain/origins.ts';

/** Browsers' address bars add a slash to an origin. */
export const withoutSlash = (typed: string): string => typed.replace(/^(https:\/\/[^/?#]+)\/+$/i, '$1');

const isLocal = (hostname: string) =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname.startsWith('127.') ||
  hostname === '[::1]';

/** The https origin of a URL or a host name. Undefined if there is none, or if the input is that origin. */
export function suggestedOrigin(typed: string): string | undefined {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
  const address = hasScheme ? typed.replace(/^http:/i, 'https:') : `https://${typed}`;
  if (/\s/.test(typed) || !URL.canParse(address)) return undefined;
  const { host, hostname, protocol } = new URL(address);
  const origin = `https://${host}`;
  const isPublic = hostname.includes('.') && !isLocal(hostname);
  return protocol === 'https:' && isPublic && isListable(origin) && origin !== typed ? origin : undefined;
}
