/** A CONNECT proxy that sends a browser's connections to a server in the test, regardless of the host. */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Test } from 'tap';

/**
 * Starts a proxy that connects every https host to the server at `port`. It stops when the test ends.
 *
 * @param onConnect - receives the host and port that the browser requested
 * @returns the port of the proxy
 */
export async function proxyToServer(
  t: Test,
  port: number,
  onConnect: (host: string) => void = () => {},
): Promise<number> {
  const proxy = createServer();
  proxy.on('connect', ({ url = '' }, client) => {
    onConnect(url);
    const server = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    server.pipe(client).pipe(server);
    server.on('error', () => client.destroy());
    client.on('error', () => server.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void proxy.close());
  return (proxy.address() as AddressInfo).port;
}
