/** Decides from names and addresses which hosts are outside the operator's network. Contract sections 7 and 17. */
import ipaddr from 'ipaddr.js';

const LOCAL_NAME = /(^|\.)(local|localhost|localdomain|internal|intranet|lan|home\.arpa)$/;

/** The host as the URL parser normalizes it: dotted IPv4, IPv6 in brackets, names in lowercase ASCII. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '');

/** The assigned part of the IPv6 address space. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** `address` is IPv4, or IPv6 without brackets. Mapped and translated addresses do not count as public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST));
}

/** Decides without DNS. A public name may still resolve to a private address. */
export function isPublicHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(address)) return isPublicAddress(address);
  return host.includes('.') && !LOCAL_NAME.test(host);
}
