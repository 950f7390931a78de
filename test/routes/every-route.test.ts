// Generated from the registered routes, so that every new route is covered automatically.
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import t from 'tap';
import { scopes } from '../../schemas/keys.ts';
import type { OpenApi } from '../support/http.ts';
import { startTestService } from '../support/service.ts';

const API = '/api/v1';
/** Public operations. Every other route of the API requires a credential. */
const publicOperations = new Set([
  'POST /auth/signup',
  'POST /auth/login',
  'GET /plans',
  'GET /service',
  'POST /keys/report-leak',
]);

/** Node.js handles CONNECT itself, and paths that accept keys handle preflights. */
const skipped = new Set(['CONNECT', 'OPTIONS']);

const service = await startTestService(t, 'postgres');
const { app, client } = service;
const owner = await client.signUp();
const { key: wholeKey } = await client.createKey(owner);

type Operation = {
  operationId: string;
  security: Record<string, unknown>[];
  'x-required-scopes'?: string[];
};
const document = app.swagger() as unknown as OpenApi;

/** The documented operations of a path. An ID with slashes (`*`) is documented as `{id}`. */
const operationsAt = (url: string): Record<string, unknown> =>
  document.paths[url.replace(/:(\w+)/g, '{$1}').replace('*', '{id}')] ?? {};

function documented(method: string, url: string): Operation {
  const operation = operationsAt(url)[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${url} is not documented.`);
  return operation as Operation;
}

const routes = [...service.paths.methodsOf]
  .filter(([url]) => url.startsWith(API))
  .flatMap(([url, methods]) => [...methods].map((method) => ({ method, url, path: url.slice(API.length) })))
  .filter(({ method }) => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method));

/** A path that matches the route, with an unknown ID. */
const call = (path: string) =>
  path.replace(':id', '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f').replace('*', 'a/b');

t.ok(routes.length > 20, `${routes.length} routes`);

/** Sends a request and reads to the end of the connection. */
function raw(method: string, path: string, rest: string): Promise<string> {
  const { hostname, port } = new URL(client.origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${rest}`);
  });
}

const noBody = '\r\n';
const emptyBody = 'Content-Length: 0\r\n\r\n';
const jsonBody = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const methodsTried = METHODS.filter((method) => !skipped.has(method));

t.test('every path returns 405 with Allow for each unsupported method, with or without a body', async (t) => {
  for (const [url, methods] of service.paths.methodsOf)
    for (const method of methodsTried.filter((method) => !methods.has(method)))
      for (const rest of [noBody, emptyBody, jsonBody])
        t.match(
          await raw(method, call(url), rest),
          new RegExp(`^HTTP/1\\.1 405 [^]*\\r\\nallow: ${[...methods].sort().join(', ')}\\r\\n`, 'i'),
          `${method} ${url}`,
        );
});

t.test('an unknown path returns 404 for each method, with or without a body', async (t) => {
  for (const method of methodsTried)
    for (const rest of [noBody, emptyBody, jsonBody])
      t.match(await raw(method, '/api/v1/nothing', rest), /^HTTP\/1\.1 404 /, method);
});

for (const { method, path, url } of routes) {
  const title = `${method} ${path}`;
  const operation = documented(method, url);
  const takesKeys = operation.security.some((one) => 'apiKey' in one);

  if (publicOperations.has(title)) {
    t.test(`${title}: public, and documented as public`, async (t) => {
      t.same(operation.security, []);
      const { status } = await client.request(method, call(path));
      t.equal(status, method === 'GET' ? 200 : 400);
    });
    continue;
  }

  t.test(`${title} 401: no credential`, async (t) => {
    const answer = await client.request(method, call(path));
    t.match(answer, {
      status: 401,
      body: { error: { code: takesKeys ? 'missingCredentials' : 'sessionRequired' } },
    });
    t.equal(answer.headers.get('www-authenticate'), takesKeys ? 'Bearer' : null);
  });

  if (method === 'GET') {
    const refused = path.startsWith('/operator/') ? [403, 'operatorRequired'] : [400, 'invalidRequest'];
    t.test(`${title} 401, then ${refused[0]}: the credential is checked before the query`, async (t) => {
      const invalid = `${call(path)}?unknown=%00`;
      t.equal((await client.get(invalid)).status, 401);
      const { body, status } = await client.get(invalid, { cookie: owner.cookie });
      t.same([status, body.error.code], refused);
    });
  } else
    t.test(`${title} 401: the credential is checked before the body`, async (t) => {
      t.equal((await client.request(method, call(path), { raw: '{"broken' })).status, 401);
    });

  t.test(`79: ${title}: schemes other than Bearer are ignored, with or without a cookie`, async (t) => {
    const plain = {
      status: 401,
      body: { error: { code: takesKeys ? 'missingCredentials' : 'sessionRequired' } },
    };
    // A cross-site request is rejected after the session check and before the body, so the route does nothing.
    const foreign = { 'sec-fetch-site': 'cross-site' };
    const known = (await client.request(method, call(path), { cookie: owner.cookie, headers: foreign })).body;
    for (const authorization of [
      'Basic YTpi',
      `Basic ${wholeKey}`,
      `Token ${wholeKey}`,
      'Digest a="b"',
      wholeKey,
      '',
    ]) {
      t.match(await client.request(method, call(path), { headers: { authorization } }), plain, authorization);
      const beside = await client.request(method, call(path), {
        cookie: owner.cookie,
        headers: { ...foreign, authorization },
      });
      t.equal(beside.body?.error?.code, known?.error?.code, `${authorization} with a cookie`);
    }
    for (const authorization of ['Bearer', 'Bearer a b', 'bearer\tx', 'Bearer,x']) {
      const answer = await client.request(method, call(path), {
        cookie: owner.cookie,
        headers: { authorization },
      });
      t.equal(answer.body.error.code, takesKeys ? 'invalidApiKey' : 'bearerNotAccepted', authorization);
    }
  });

  if (!takesKeys) {
    t.test(`${title} 403 bearerNotAccepted: a key, with or without a cookie`, async (t) => {
      for (const cookie of ['', owner.cookie]) {
        const answer = await client.request(method, call(path), { key: wholeKey, cookie });
        t.match(answer, { status: 403, body: { error: { code: 'bearerNotAccepted' } } });
      }
    });
    continue;
  }

  t.test(`${title} 401 invalidApiKey: an invalid key does not fall back to the cookie`, async (t) => {
    for (const key of ['nonsense', `${wholeKey.slice(0, -1)}${wholeKey.endsWith('a') ? 'b' : 'a'}`]) {
      const answer = await client.request(method, call(path), { key, cookie: owner.cookie });
      t.match(answer, { status: 401, body: { error: { code: 'invalidApiKey' } } });
      t.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
    }
  });

  const needed = operation['x-required-scopes']?.[0];
  t.test(`${title} 403 insufficientScope: every scope but ${needed}`, async (t) => {
    const stranger = await client.signUp();
    const { key } = await client.createKey(stranger, { scopes: scopes.filter((scope) => scope !== needed) });
    const answer = await client.request(method, call(path), { key });
    t.match(answer, { status: 403, body: { error: { code: 'insufficientScope' } } });
    t.equal(answer.headers.get('www-authenticate'), `Bearer error="insufficient_scope", scope="${needed}"`);
    const usage = await client.get('/usage', { cookie: stranger.cookie });
    t.same([...new Set(Object.values(usage.body.used))], [0], 'no quota used');
  });
}

t.test('every API path returns 405 methodNotAllowed, and Allow lists all documented methods', async (t) => {
  for (const [url, methods] of service.paths.methodsOf) {
    if (!url.startsWith(API)) continue;
    const known = [...methods].filter((method) =>
      ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method),
    );
    const wrong = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
      (method) => !known.includes(method),
    );
    for (const method of wrong) {
      const response = await fetch(client.origin + API + call(url.slice(API.length)), { method });
      const { error } = (await response.json()) as { error: { code: string } };
      const title = `${method} ${url}`;
      t.equal(response.status, 405, title);
      t.equal(error.code, 'methodNotAllowed', title);
      t.ok(
        Object.keys(operationsAt(url)).every((one) =>
          response.headers.get('allow')?.includes(one.toUpperCase()),
        ),
        title,
      );
    }
  }
});

t.test(
  'an unknown API path returns 404 notFound in the error format, and API responses are no-store',
  async (t) => {
    const missing = await client.get('/nothing-here');
    t.match(missing, { status: 404, body: { error: { code: 'notFound', param: null } } });
    for (const answer of [missing, await client.get('/plans'), await client.get('/usage')]) {
      t.equal(answer.headers.get('cache-control'), 'no-store');
    }
  },
);

t.test('every operation has a unique ID, a summary, one tag, security, and errors', async (t) => {
  const operations = Object.values(document.paths).flatMap((item) =>
    Object.values(item),
  ) as unknown as (Operation & {
    summary: string;
    tags: string[];
    responses: Record<string, unknown>;
  })[];
  for (const operation of operations) {
    t.ok(
      operation.operationId && operation.summary && operation.tags.length === 1 && operation.security,
      operation.operationId,
    );
    t.ok(operation.responses['400'] && operation.responses['500'], operation.operationId);
  }
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
});
