/** Decides which browser origins belong to the service. Contract sections 4, 9, and 13 (`PUBLIC_URL`). */

export type OwnAddress = Readonly<{
  publicUrl: string;
  /** If false, the service is only for this machine, under any loopback name. */
  publicUrlIsSet: boolean;
  port: number;
}>;

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** Browsers omit the default port from an origin. */
const httpOrigin = (host: string, port: number) =>
  port === 80 ? `http://${host}` : `http://${host}:${port}`;

export function isOwnOrigin(origin: string, own: OwnAddress): boolean {
  if (own.publicUrlIsSet) return origin === own.publicUrl;
  return loopbackHosts.some((host) => origin === httpOrigin(host, own.port));
}

export const namedOrigin = (own: OwnAddress): string =>
  own.publicUrlIsSet ? own.publicUrl : httpOrigin('localhost', own.port);
