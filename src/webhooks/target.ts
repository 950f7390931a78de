/** Where webhooks may lead: https and public addresses, unless the operator allows others. Contract section 17. */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { parsedUrl } from '../domain/parsed-url.ts';
import { hostOf, isPublicAddress, isPublicHost } from '../domain/public-hosts.ts';

/** `any` also allows http, and addresses of the operator's network. */
export type WebhookTargets = 'public' | 'any';

/** The host has no address that webhooks may connect to. */
export class PrivateTargetError extends Error {
  override readonly name = 'PrivateTargetError';
}

/** What is wrong with a webhook's URL, as the end of a sentence; undefined if nothing is. Decided without DNS. */
export function faultOfTarget(text: string, targets: WebhookTargets): string | undefined {
  const url = parsedUrl(text);
  const isHttps = url?.protocol === 'https:';
  if (url === undefined || !(isHttps || (targets === 'any' && url.protocol === 'http:')))
    return `must be an https URL, such as https://hooks.example.com/parley.`;
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user name or password. Messages are signed instead.';
  if (url.hash !== '') return 'must not contain a fragment (#…).';
  if (targets === 'public' && !isPublicHost(hostOf(url)))
    return 'must not lead to a private address or a local name. Use a public host.';
  return undefined;
}

/** Resolves names like the default, but only to public addresses, so the address that is checked is the one connected to. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    const allowed = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined)
      return callback(new PrivateTargetError(`${hostname} resolves only to private addresses.`), '', 0);
    if (options.all) return callback(null, allowed);
    return callback(null, first.address, first.family);
  });
};
