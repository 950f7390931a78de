/** Allowed targets of webhooks: https and public addresses, unless the operator allows others. Contract section 17. */
import type { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { parsedUrl } from '../domain/parsed-url.ts';
import { hostOf, isPublicAddress, isPublicHost } from '../domain/public-hosts.ts';

/** `any` also allows http, and addresses in the operator's network. */
export type WebhookTargets = 'public' | 'any';

/** The host has no address to which webhooks may connect. */
export class PrivateTargetError extends Error {
  override readonly name = 'PrivateTargetError';
}

/** Messages that complete a sentence about `url`, by the `reason` of the API's error. */
export const targetFaults = {
  url_not_https: 'must be an https URL, such as https://hooks.example.com/parley.',
  url_credentials: 'must not contain a user name or password. Messages are signed instead.',
  url_fragment: 'must not contain a fragment (#…).',
  url_private: 'must not point to a private address or a local name. Use a public host.',
};

/** The fault of a webhook's URL; undefined if it has none. Decides without DNS. */
export function faultOfTarget(text: string, targets: WebhookTargets): keyof typeof targetFaults | undefined {
  const url = parsedUrl(text);
  const isHttps = url?.protocol === 'https:';
  if (url === undefined || !(isHttps || (targets === 'any' && url.protocol === 'http:')))
    return 'url_not_https';
  if (url.username !== '' || url.password !== '') return 'url_credentials';
  if (url.hash !== '') return 'url_fragment';
  if (targets === 'public' && !isPublicHost(hostOf(url))) return 'url_private';
  return undefined;
}

type Address = { address: string; family: 4 | 6 };

/** IPv4 and IPv6 addresses of a name. Throws ENOTFOUND if it has none, EAI_AGAIN if the lookup failed. */
async function addressesOf(name: string, resolver: Resolver): Promise<Address[]> {
  if (isIP(name) !== 0) return [{ address: name, family: isIP(name) === 4 ? 4 : 6 }];
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found: Address[] = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 as const })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 as const })) : []),
  ];
  if (found.length > 0) return found;
  const hasNone = [four, six].every(
    (one) => one.status === 'fulfilled' || /^(ENOTFOUND|ENODATA)$/.test(one.reason?.code),
  );
  const code = hasNone ? 'ENOTFOUND' : 'EAI_AGAIN';
  throw Object.assign(new Error(`${name} could not be resolved.`), { code });
}

/**
 * Resolves names only to public addresses, so that the checked address is the one to connect to.
 *
 * @param resolver - queries name servers itself: the default lookup has a few threads for the whole process, and a slow
 *   name server would block them
 */
export const publicLookup =
  (resolver: Resolver): LookupFunction =>
  (hostname, options, callback) => {
    addressesOf(hostname, resolver).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isPublicAddress(address));
        const [first] = allowed;
        if (first === undefined)
          callback(new PrivateTargetError(`${hostname} resolves only to private addresses.`), '', 0);
        else if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, '', 0),
    );
  };
