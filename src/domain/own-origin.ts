/** Which browser origin is the service's own: contract sections 4, 9 and 13 (`PUBLIC_URL`). */

/** Where people open the service. */
export type OwnAddress = Readonly<{
  /** An origin, as browsers spell it. */
  publicUrl: string;
  /** Whether the operator set it; else the service is for this machine, by whatever loopback name. */
  publicUrlIsSet: boolean;
  /** The port it listens on. */
  port: number;
}>;

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** A browser leaves the default port out of an origin. */
const httpOrigin = (host: string, port: number) =>
  port === 80 ? `http://${host}` : `http://${host}:${port}`;

/**
 * Whether a page of this origin is the service's own.
 *
 * @param origin - an `Origin` header as a browser sends it; compared exactly
 * @param own - where the service is
 */
export function isOwnOrigin(origin: string, own: OwnAddress): boolean {
  if (own.publicUrlIsSet) return origin === own.publicUrl;
  return loopbackHosts.some((host) => origin === httpOrigin(host, own.port));
}

/** The one address to name to people. */
export const namedOrigin = (own: OwnAddress): string =>
  own.publicUrlIsSet ? own.publicUrl : httpOrigin('localhost', own.port);
