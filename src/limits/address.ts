/** Client addresses, for the audit trail and for limits by address. Contract sections 1 and 5. */
import { BlockList, isIPv6 } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { withoutApiKeys } from '../domain/api-key.ts';

/** Some proxies include the port in `X-Forwarded-For`: `1.2.3.4:5678`, `[::1]:5678`. */
const withPort = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

function withoutPort(text: string): string {
  const [, ipv6, ipv4] = withPort.exec(text) ?? [];
  return ipv6 ?? ipv4 ?? text;
}

/** Providers assign customers at least a /64, so limits per IPv6 address would have no effect. */
const IPV6_PREFIX = 64;

/** The part of an address that limits count by: an IPv4 address, even if mapped into IPv6, or an IPv6 /64. */
export function addressKey(address: string): string {
  const bare = withoutPort(address);
  const withoutZone = bare.split('%', 1)[0] ?? bare;
  const normal = rateLimit.normalizeIP(withoutZone, IPV6_PREFIX);
  return isIPv6(normal) ? `${normal}/${IPV6_PREFIX}` : normal;
}

/**
 * The trusted proxies in Fastify's format. Fastify 5.12 reads a number of hops as "none", so this returns a function.
 * Fastify calls it with hop 0 for the socket's address, 1 for the last header entry, and so on.
 */
export function trustedProxies(trusted: number | readonly string[]) {
  if (typeof trusted !== 'number') return [...trusted];
  return trusted > 0 && ((_address: string, hop: number) => hop < trusted);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

export function isLoopback(address: string): boolean {
  const bare = withoutPort(address);
  return loopback.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
}

/** A trusted proxy may send more than an address, so the text is truncated. */
const ADDRESS_LENGTH = 64;
const USER_AGENT_LENGTH = 300;

/** The source of a request, for sessions and the audit trail. Removes API keys that a header may contain. */
export const sourceOf = (request: FastifyRequest): { address: string; userAgent: string } => ({
  address: withoutApiKeys(withoutPort(request.ip)).slice(0, ADDRESS_LENGTH),
  userAgent: withoutApiKeys(request.headers['user-agent'] ?? '').slice(0, USER_AGENT_LENGTH),
});
