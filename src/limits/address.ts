/** Where a request comes from: for its account to read, and for the limits that count by address. Contract sections 1 and 5. */
import { BlockList, isIPv6 } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { withoutApiKeys } from '../domain/api-key.ts';

/** Some proxies put the port of a connection into `X-Forwarded-For`: `1.2.3.4:5678`, `[::1]:5678`. */
const withPort = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

/** The address of a text that may have a port, too. */
function withoutPort(text: string): string {
  const [, ipv6, ipv4] = withPort.exec(text) ?? [];
  return ipv6 ?? ipv4 ?? text;
}

/** Providers hand a customer at least so much of IPv6; counting single addresses would count nothing. */
const IPV6_PREFIX = 64;

/**
 * The part of an address that a limit counts by: IPv4 whole, also where it is mapped into IPv6; IPv6 by its /64.
 *
 * @param address - as Fastify found it, by the proxies that are trusted
 */
export function addressKey(address: string): string {
  const bare = withoutPort(address);
  const withoutZone = bare.split('%', 1)[0] ?? bare;
  const normal = rateLimit.normalizeIP(withoutZone, IPV6_PREFIX);
  return isIPv6(normal) ? `${normal}/${IPV6_PREFIX}` : normal;
}

/**
 * Which proxies' `X-Forwarded-For` is believed, as Fastify takes it. Of a number of hops Fastify 5.12 makes "none": it
 * wants a function, and calls it with 0 for the socket's own address, 1 for the last entry of the header, and so on.
 *
 * @param trusted - as in the configuration
 */
export function trustedProxies(trusted: Config['trustProxy']) {
  if (typeof trusted !== 'number') return [...trusted];
  return trusted > 0 && ((_address: string, hop: number) => hop < trusted);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Whether an address is this machine's own, also where it is mapped into IPv6. */
export function isLoopback(address: string): boolean {
  const bare = withoutPort(address);
  return loopback.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
}

/** A trusted proxy may send more than an address. */
const ADDRESS_LENGTH = 64;
const USER_AGENT_LENGTH = 300;

/** Where a request came from, as sessions and the audit trail keep it, without the keys that a header may hold. */
export const sourceOf = (request: FastifyRequest): { address: string; userAgent: string } => ({
  address: withoutApiKeys(withoutPort(request.ip)).slice(0, ADDRESS_LENGTH),
  userAgent: withoutApiKeys(request.headers['user-agent'] ?? '').slice(0, USER_AGENT_LENGTH),
});
