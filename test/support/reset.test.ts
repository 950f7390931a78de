import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { reset } from './reset.ts';

/** Both ends of a connection. */
async function connection(t: Test): Promise<[Socket, Socket]> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  return [client, peer];
}

t.test('reset: the peer reads ECONNRESET', async (t) => {
  const [client, peer] = await connection(t);
  const failed = once(client, 'error');
  reset(peer);
  t.match(await failed, [{ code: 'ECONNRESET' }]);
});

t.test('reset: a connection that is already shutting down is closed', async (t) => {
  const [client, peer] = await connection(t);
  client.resume();
  const closed = Promise.all([once(peer, 'close'), once(client, 'close')]);
  peer.end();
  reset(peer);
  const late = sleep(5000, 'late', { ref: false });
  t.not(await Promise.race([closed, late]), 'late');
});
