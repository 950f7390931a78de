/** Whom a network address stands for where limits count by address. Contract section 5. */
import { isIPv6 } from 'node:net';
import rateLimit from '@fastify/rate-limit';

/** Providers hand a customer at least so much of IPv6; counting single addresses would count nothing. */
const IPV6_PREFIX = 64;

/**
 * The part of an address that a limit counts by: IPv4 whole, also where it is mapped into IPv6; IPv6 by its /64.
 *
 * @param address - as Fastify found it, by the proxies that are trusted
 */
export function addressKey(address: string): string {
  const withoutZone = address.split('%', 1)[0] ?? address;
  const normal = rateLimit.normalizeIP(withoutZone, IPV6_PREFIX);
  return isIPv6(normal) ? `${normal}/${IPV6_PREFIX}` : normal;
}
