/** Where a request comes from: for its account to read, and for the limits that count by address. Contract sections 1 and 5. */
import { isIPv6 } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';

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

/** A trusted proxy may send more than an address. */
const ADDRESS_LENGTH = 64;
const USER_AGENT_LENGTH = 300;

/** Where a request came from, as sessions and the audit trail keep it. */
export const sourceOf = (request: FastifyRequest): { address: string; userAgent: string } => ({
  address: request.ip.slice(0, ADDRESS_LENGTH),
  userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_LENGTH),
});
