/** Which browser origins belong to the service: contract sections 4, 9 and 13 (`PUBLIC_URL`). */

export type OwnAddress = Readonly<{
  /** An origin, as browsers spell it. */
  publicUrl: string;
  /** If not, the service is for this machine only, by any loopback name. */
  publicUrlIsSet: boolean;
  port: number;
}>;

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** Browsers omit the default port. */
const httpOrigin = (host: string, port: number) =>
  port === 80 ? `http://${host}` : `http://${host}:${port}`;

/** Whether the service's own pages have this origin, as a browser sends it; compared exactly. */
export function isOwnOrigin(origin: string, own: OwnAddress): boolean {
  if (own.publicUrlIsSet) return origin === own.publicUrl;
  return loopbackHosts.some((host) => origin === httpOrigin(host, own.port));
}

/** The address to show to people. */
export const namedOrigin = (own: OwnAddress): string =>
  own.publicUrlIsSet ? own.publicUrl : httpOrigin('localhost', own.port);
