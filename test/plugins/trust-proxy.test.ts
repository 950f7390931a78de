// `TRUST_PROXY` behind reverse proxies that run as separate processes. Contract sections 5 and 13.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { startForwardingProxy } from '../support/forwarding-proxy.ts';
import { startProcess } from '../support/process.ts';
import { freshDatabase, startTestService } from '../support/service.ts';

const ADA = '127.0.0.11';
const BOB = '127.0.0.12';
const ATTEMPTS = 3;

type Sent = { origin: string; from: string; forwardedFor?: string; cookie?: string; body?: unknown };
type Got = { status: number; cookie: string; body: { data: { address: string }[] } };

/** Sends a request from a loopback address that represents a client. */
async function send(path: string, { body, cookie, forwardedFor, from, origin }: Sent): Promise<Got> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const outgoing = request(`${origin}/api/v1${path}`, {
    method: text === undefined ? 'GET' : 'POST',
    localAddress: from,
    agent: false,
    headers: {
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': text.length }),
      ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
      ...(cookie !== undefined && { cookie }),
    },
  });
  outgoing.end(text);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return {
    status: answer.statusCode ?? 0,
    cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '',
    body: (await json(answer)) as Got['body'],
  };
}

const signUp = (sent: Omit<Sent, 'body'>) =>
  send('/auth/signup', {
    ...sent,
    body: { email: `user-${crypto.randomUUID()}@example.com`, password: 'correct horse battery' },
  });

/** The client address that the service recorded, as shown to the account's owner. */
async function addressSeen(sent: Omit<Sent, 'body'>): Promise<string | undefined> {
  const { cookie } = await signUp(sent);
  const { body } = await send('/sessions', { ...sent, cookie });
  return body.data[0]?.address;
}

/** Starts the service behind this many proxies, and returns the origin of the outermost. */
async function start(t: Test, trustProxy: string, hops: number): Promise<string> {
  const { port } = await startTestService(t, 'postgres', {
    TRUST_PROXY: trustProxy,
    AUTH_ATTEMPTS_PER_MINUTE: String(ATTEMPTS),
  });
  let origin = `http://127.0.0.1:${port}`;
  for (let hop = 1; hop <= hops; hop += 1)
    origin = await startForwardingProxy(t, `127.0.0.${20 + hop}`, origin);
  return origin;
}

for (const hops of [1, 2]) {
  t.test(`69: TRUST_PROXY=${hops} behind a chain of ${hops}: each client has its own limit`, async (t) => {
    const origin = await start(t, String(hops), hops);
    t.equal(await addressSeen({ origin, from: ADA }), ADA, "the client's address, not a proxy's");
    for (let n = 1; n < ATTEMPTS; n += 1) t.equal((await signUp({ origin, from: ADA })).status, 201);
    t.equal((await signUp({ origin, from: ADA })).status, 429, 'Ada has reached her limit');
    for (const forwardedFor of ['192.0.2.1', '192.0.2.1, 192.0.2.2, 192.0.2.3', `${BOB}, 127.0.0.1`, 'x'])
      t.equal(
        (await signUp({ origin, from: ADA, forwardedFor })).status,
        429,
        `a forged X-Forwarded-For (${forwardedFor}) does not bypass the limit`,
      );
    t.equal((await signUp({ origin, from: BOB })).status, 201, 'Bob has not reached his');
    const seen = await addressSeen({ origin, from: BOB, forwardedFor: '192.0.2.9, 10.0.0.1' });
    t.equal(seen, BOB, 'a forged header does not change the recorded address');
  });
}

t.test('69: fewer hops than proxies: the client address is that of the first untrusted proxy', async (t) => {
  const origin = await start(t, '1', 2);
  t.equal(await addressSeen({ origin, from: ADA, forwardedFor: '192.0.2.1' }), '127.0.0.22');
});

t.test('69: TRUST_PROXY=off: X-Forwarded-For is ignored', async (t) => {
  const origin = await start(t, 'off', 1);
  t.equal(await addressSeen({ origin, from: ADA, forwardedFor: '192.0.2.1' }), '127.0.0.21');
});

t.test(
  '69: TRUST_PROXY as a list of addresses: the first address not in the list is the client',
  async (t) => {
    const origin = await start(t, '127.0.0.21,127.0.0.22', 2);
    t.equal(await addressSeen({ origin, from: ADA, forwardedFor: '192.0.2.1' }), ADA);
  },
);

t.test('an unconfigured proxy on the same machine triggers one warning that names the setting', async (t) => {
  for (const [env, count] of [
    [{}, 1],
    [{ TRUST_PROXY: 'off' }, 0],
  ] as const) {
    const database = await freshDatabase('postgres');
    const service = await startProcess(t, { ...database.env, ...env });
    const ask = (headers: Record<string, string>) => fetch(`${service.origin}/healthz`, { headers });
    await ask({});
    t.notMatch(service.output(), /TRUST_PROXY/, 'no warning without a proxy');
    await ask({ 'x-forwarded-for': '192.0.2.1' });
    await ask({ 'x-forwarded-for': '192.0.2.2' });
    await ask({ forwarded: 'for=192.0.2.3' });
    await service.end();
    t.equal(service.output().match(/TRUST_PROXY=1/g)?.length ?? 0, count, JSON.stringify(env));
    await database.drop();
  }
});
