// Several requests on one connection, sent without waiting for the responses.
import fs from 'node:fs';
import { connect } from 'node:net';
import t from 'tap';

import { startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const requestFor = (target: string, headers = '', body = '') =>
  `${target} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { calls: slots, client, port } = await startTestService(t, 'postgres', { CHAT_URL: upstream.url });
const owner = await client.signUp();
const { key } = await client.createKey(owner);
const asset = /\/assets\/reference\/scalar[\w.-]+\.js/.exec((await client.get('//docs/try')).text)?.[0] ?? '';

t.test('pipelined requests are answered in order', async (t) => {
  const socket = connect(port, '127.0.0.1');
  const targets = ['GET /healthz', 'GET /api/v1/plans', 'GET /nothing', 'GET /healthz'];
  socket.write(targets.map((target) => requestFor(target)).join(''));
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  await eventually('all four requests have a response', async () => statuses().length === 4);
  t.same(statuses(), ['200', '200', '404', '200']);
  socket.destroy();
});

t.test('when a connection closes, the files it requested are closed', async (t) => {
  t.not(asset, '');
  const openFiles = () =>
    fs.readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`).includes('/dist/');
      } catch {
        return false;
      }
    }).length;
  const socket = connect(port, '127.0.0.1');
  // The client reads nothing, so every response waits behind the first.
  socket.pause();
  socket.write(requestFor(`GET ${asset}`).repeat(50));
  await eventually('the first file is open', async () => openFiles() > 0);
  socket.destroy();
  await eventually('no file is open', async () => openFiles() === 0);
  t.equal(openFiles(), 0);
});

t.test('streams queued behind an unread response take no slot, and no slot leaks', async (t) => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'chunks=100000' }], stream: true });
  const stream = requestFor(
    'POST /api/v1/chat/completions',
    `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\n`,
    body,
  );
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.write(requestFor(`GET ${asset}`).repeat(20) + stream.repeat(20));
  const other = connect(port, '127.0.0.1');
  other.write(stream.repeat(3));
  other.resume();
  await eventually('one stream runs', async () => slots.taken === 1);
  t.equal(slots.taken, 1);
  socket.destroy();
  other.destroy();
  await eventually('no slot is in use', async () => slots.taken === 0);
  t.equal((await upstream.calls()).open, 0);
});

t.test('a connection with more than 100 queued requests is closed', async (t) => {
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {}).resume();
  socket.write(requestFor('GET /healthz').repeat(500));
  await closed;
  t.equal((await client.get('//healthz')).status, 200);
});
