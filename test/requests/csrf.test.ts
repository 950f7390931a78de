import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import { isOwnOrigin, namedOrigin } from '../../src/domain/own-origin.ts';
import { assertSameSite } from '../../src/requests/csrf.ts';
import { manyAttempts } from '../support/dashboard.ts';
import { startTestService } from '../support/service.ts';

type Headers = Record<string, string>;

/** An application with one guarded route. `passes` reports whether a request is allowed. */
async function guarded(t: Test, publicUrl?: string) {
  const app = fastify();
  const config = {
    port: 3000,
    publicUrl: publicUrl ?? 'http://localhost:3000',
    publicUrlIsSet: publicUrl !== undefined,
  };
  app.decorate('config', config as never);
  app.addHook('onRequest', async (request) => assertSameSite(request));
  app.route({
    method: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/',
    handler: async () => 'passed',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const ask = (headers: Headers, method = 'POST') =>
    app.inject({ method: method as 'POST', url: '/', headers });
  const passes = async (headers: Headers, method?: string) => (await ask(headers, method)).statusCode === 200;
  return { ask, origin, passes, port: new URL(origin).port };
}

t.test('an unsafe request is allowed only with Sec-Fetch-Site: same-origin', async (t) => {
  const { passes } = await guarded(t, 'https://chat.example.com');
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    t.equal(await passes({ 'sec-fetch-site': 'same-origin' }, method), true, method);
    for (const site of ['cross-site', 'same-site', 'none', '', 'same-origin, cross-site']) {
      t.equal(
        await passes({ 'sec-fetch-site': site, origin: 'https://chat.example.com' }, method),
        false,
        `${method} ${site}`,
      );
    }
  }
});

t.test("without Sec-Fetch-Site, an unsafe request is allowed only from the service's origin", async (t) => {
  const { passes } = await guarded(t, 'https://chat.example.com');
  t.equal(await passes({ origin: 'https://chat.example.com' }), true);
  const foreign = [
    'null',
    '',
    'https://evil.example',
    'http://chat.example.com',
    'https://chat.example.com:8443',
    'https://sibling.example.com',
    'https://chat.example.com.evil.example',
    'https://chat.example.com/',
    'http://localhost:3000',
  ];
  for (const origin of foreign) t.equal(await passes({ origin }), false, origin);
});

t.test('a request without either header is not from a browser and is allowed', async (t) => {
  const { passes } = await guarded(t, 'https://chat.example.com');
  t.equal(await passes({}), true);
});

t.test('safe methods are allowed from any origin', async (t) => {
  const { passes } = await guarded(t, 'https://chat.example.com');
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    t.equal(
      await passes({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, method),
      true,
      method,
    );
  }
});

t.test('the error names PUBLIC_URL and says what to do', async (t) => {
  const { ask } = await guarded(t, 'https://chat.example.com');
  const answer = (await ask({ origin: 'https://evil.example' })).json();
  t.equal(answer.code, 'crossSiteRequest');
  t.match(answer.message, /at https:\/\/chat\.example\.com\. If you run this service, set `PUBLIC_URL`/);
});

t.test(
  "without PUBLIC_URL, any loopback host with the service's port is same-origin, even with PORT=0",
  async (t) => {
    const { origin, port } = await guarded(t);
    const send = (from: string) => fetch(origin, { method: 'POST', headers: { origin: from } });
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      t.equal((await send(`http://${host}:${port}`)).status, 200, host);
      t.equal((await send(`http://${host}:3000`)).status, 403, `${host} with another port`);
    }
    t.equal((await send(`https://localhost:${port}`)).status, 403);
    const refusal = await send(`http://192.168.1.5:${port}`);
    t.match(await refusal.json(), { message: new RegExp(`at http://localhost:${port}\\. `) });
  },
);

t.test('an origin omits port 80, as in browsers', async (t) => {
  const own = { publicUrl: 'http://localhost:80', publicUrlIsSet: false, port: 80 };
  t.equal(isOwnOrigin('http://localhost', own), true);
  t.equal(isOwnOrigin('http://localhost:80', own), false);
  t.equal(namedOrigin(own), 'http://localhost');
});

t.test(
  'writes with a session, sign-in, and sign-up reject other sites with 403 crossSiteRequest',
  async (t) => {
    const { client } = await startTestService(t, 'postgres', manyAttempts);
    const owner = await client.signUp();
    const { cookie, email, password } = owner;
    const writes: [string, string, unknown][] = [
      ['POST', '/auth/signup', { email: 'other@example.com', password }],
      ['POST', '/auth/login', { email, password }],
      ['POST', '/auth/logout', undefined],
      ['PATCH', '/account', { email, current_password: password }],
      ['DELETE', '/account', { current_password: password }],
      ['POST', '/account/password', { current_password: password, new_password: password }],
      ['POST', '/keys', { name: 'Foreign', scopes: ['chat'] }],
      ['PUT', '/subscription', { plan: 'plus', billing_period: 'monthly' }],
      ['POST', '/chat', { message: 'Hello' }],
    ];
    const foreign: Headers[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'null' },
      { origin: 'https://evil.example' },
    ];
    for (const [method, path, body] of writes) {
      for (const headers of foreign) {
        const answer = await client.request(method, path, { body, cookie, headers });
        t.match(
          answer,
          { status: 403, body: { error: { code: 'crossSiteRequest' } } },
          `${method} ${path} ${JSON.stringify(headers)}`,
        );
      }
    }
    t.match(
      await client.get('/account', { cookie }),
      { status: 200, body: { email, plan: 'free' } },
      'nothing has changed',
    );
    t.strictSame((await client.get('/keys', { cookie })).body.data, []);

    const own: Headers[] = [{ 'sec-fetch-site': 'same-origin' }, { origin: client.origin }, {}];
    for (const headers of own) {
      t.equal(
        (await client.post('/keys', { name: 'Own', scopes: ['chat'] }, { cookie, headers })).status,
        201,
        JSON.stringify(headers),
      );
    }
  },
);
