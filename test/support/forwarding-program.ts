/**
 * A reverse proxy in its own process. It appends the client's address to `X-Forwarded-For`, as nginx and HAProxy do.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const [listenAt = '127.0.0.1', target = ''] = process.argv.slice(2);
const { hostname, port } = new URL(target);

const server = createServer((incoming, outgoing) => {
  const caller = incoming.socket.remoteAddress ?? '';
  const before = incoming.headers['x-forwarded-for'];
  const headers = {
    ...incoming.headers,
    'x-forwarded-for': before === undefined ? caller : `${before}, ${caller}`,
  };
  const { method, url: path } = incoming;
  const forwarded = request({ hostname, port, localAddress: listenAt, method, path, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  forwarded.on('error', () => outgoing.destroy());
  incoming.pipe(forwarded);
});
server.listen(0, listenAt, () => process.send?.((server.address() as AddressInfo).port));
// The parent process has exited.
process.once('disconnect', () => process.exit());
