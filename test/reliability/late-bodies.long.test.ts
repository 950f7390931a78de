// A credential that becomes invalid while the body is arriving starts no work: reliability tests 8 and 13.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { onEachDatabase, type TestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

type Held = { finish(): Promise<string> };

/** Sends a request without the end of its body. The service has authenticated it, and is reading the body. */
async function hold(
  { app, port }: Pick<TestService, 'app' | 'port'>,
  path: string,
  credential: string,
  body: string,
): Promise<Held> {
  const arrived = once(app.server, 'request');
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  socket.write(
    `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\n${credential}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body.slice(0, 5)}`,
  );
  const [request] = (await arrived) as [IncomingMessage];
  await eventually('the service reads the body', async () => request.readableDidRead);
  // The service checks a credential again only if the body takes longer than 250 ms.
  await sleep(300);
  return {
    async finish() {
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(body.slice(5));
      await closed;
      return received;
    },
  };
}

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

onEachDatabase(t, { CHAT_URL: upstream.url }, async (t, service) => {
  const { client } = service;
  const owner = await client.signUp();
  const { id, key } = await client.createKey(owner);
  const bearer = `Authorization: Bearer ${key}`;
  const chat = JSON.stringify({ message: 'Hello' });

  await t.test('a request with a slow body is served while its key is valid', async (t) => {
    t.match(await (await hold(service, '/chat', bearer, chat)).finish(), /^HTTP\/1.1 200/);
  });

  await t.test(
    'if the origin is removed while the body arrives, the response is 403 without CORS headers',
    async (t) => {
      await upstream.reset();
      const page = 'https://app.example.com';
      t.equal((await client.patch(`/keys/${id}`, { allowed_origins: [page] }, owner)).status, 200);
      const credential = `${bearer}\r\nOrigin: ${page}`;
      const listed = await (await hold(service, '/chat', credential, chat)).finish();
      t.match(listed, /^HTTP\/1.1 200/);
      t.match(listed, /\naccess-control-allow-origin: https:\/\/app\.example\.com\r/i);
      const held = await hold(service, '/chat', credential, chat);
      t.equal((await client.patch(`/keys/${id}`, { allowed_origins: [] }, owner)).status, 200);
      const answer = await held.finish();
      t.match(answer, /^HTTP\/1.1 403/);
      t.match(answer, /"originNotAllowed"/);
      t.notMatch(answer, /access-control/i);
      t.equal((await upstream.calls()).chat, 1);
    },
  );

  await t.test(
    'if the key is revoked while the body arrives, the response is 401 and no engine is called',
    async (t) => {
      await upstream.reset();
      const held = await hold(service, '/chat', bearer, chat);
      t.equal((await client.delete(`/keys/${id}`, owner)).status, 204);
      const answer = await held.finish();
      t.match(answer, /^HTTP\/1.1 401/);
      t.match(answer, /"apiKeyRevoked"/);
      t.equal((await upstream.calls()).chat, 0);
    },
  );

  await t.test(
    'if a password change ends the session while the body arrives, the response is 401 instead of a new key',
    async (t) => {
      const cookie = `Cookie: ${owner.cookie}`;
      const body = JSON.stringify({ name: 'Late', scopes: ['chat'] });
      const held = await hold(service, '/keys', cookie, body);
      const change = { current_password: owner.password, new_password: 'another long password' };
      t.equal((await client.post('/account/password', change, owner)).status, 204);
      const answer = await held.finish();
      t.match(answer, /^HTTP\/1.1 401/);
      t.match(answer, /"sessionRequired"/);
    },
  );
});
