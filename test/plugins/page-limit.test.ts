// Contract section 5: public pages are limited to 300 a minute per address. Their assets and the probes are not.
import t from 'tap';
import { askRaw } from '../support/raw-http.ts';
import { startTestService } from '../support/service.ts';

const PAGES = 300;

t.test('an address may load 300 public pages a minute', async (t) => {
  const { client, port } = await startTestService(t, 'postgres', { TRUST_PROXY: 'loopback' });
  let address = 0;
  /** Returns an address that has reached its limit of public pages. */
  const spent = async (paths: string[]) => {
    address += 1;
    const from = `192.0.2.${address}`;
    const statuses = await Promise.all(
      Array.from({ length: PAGES }, (_, n) =>
        askRaw(port, paths[n % paths.length] ?? '', { 'x-forwarded-for': from }).then(({ status }) => status),
      ),
    );
    t.notOk(statuses.includes(429), 'all 300 are served');
    return from;
  };
  const publicPaths = [
    '/',
    '/settings',
    '/docs',
    '/docs/api/chat',
    '/docs/try',
    '/docs/guides',
    '/docs/guides/keys',
    '/docs/guides/none',
    '/docs/errors',
    '/docs/errors/notFound',
    '/docs/search?q=key',
    '/docs/openapi.json',
    '/openapi.json',
    '/api/v1/plans',
    '/api/v1/service',
    '/.well-known/security.txt',
    '/nothing-here',
    '/api/v1/nothing-here',
  ];
  const from = { 'x-forwarded-for': await spent(publicPaths) };

  for (const path of publicPaths) {
    await t.test(`${path}: 429 rateLimitExceeded with Retry-After`, async (t) => {
      const { headers, status, text } = await askRaw(port, path, from);
      t.equal(status, 429);
      t.match(headers['content-type'], 'application/json');
      t.match(JSON.parse(text).error, {
        code: 'rateLimitExceeded',
        limit: { name: 'page', ceiling: PAGES },
      });
      const seconds = Number(headers['retry-after']);
      t.ok(seconds > 0 && seconds <= 60, `Retry-After: ${seconds}`);
    });
  }

  await t.test('a browser gets an HTML error page, except from the API', async (t) => {
    for (const path of publicPaths) {
      const { headers, status, text } = await askRaw(port, path, { ...from, accept: 'text/html,*/*;q=0.8' });
      t.equal(status, 429, path);
      t.ok(Number(headers['retry-after']) > 0, path);
      if (path.startsWith('/api/')) {
        t.match(JSON.parse(text).error.code, 'rateLimitExceeded');
        continue;
      }
      t.match(headers['content-type'], 'text/html', path);
      t.match(text, '<h1>Too Many Requests</h1>');
      t.match(
        text,
        /limit of 300 requests for public pages per minute has been reached\. Try again in \d+ seconds?\./,
      );
      t.match(headers['content-security-policy'], "default-src 'none'");
    }
  });

  await t.test('page assets, probes, and operations that need a credential are not limited', async (t) => {
    const { text } = await askRaw(port, '/docs/guides');
    const style = text.match(/href="(\/assets\/page\.css[^"]*)"/)?.[1]?.replaceAll('&#61;', '=') ?? '';
    for (const path of [style, '/healthz', '/readyz'])
      t.equal((await askRaw(port, path, from)).status, 200, path);
    t.equal((await askRaw(port, '/api/v1/usage', from)).status, 401);
    const owner = await client.signUp();
    t.equal((await askRaw(port, '/api/v1/account', { ...from, cookie: owner.cookie })).status, 200);
  });

  await t.test('another address is served, and IPv6 addresses count per /64 network', async (t) => {
    t.equal((await askRaw(port, '/docs', { 'x-forwarded-for': '198.51.100.7' })).status, 200);
    const statuses = await Promise.all(
      Array.from({ length: PAGES + 1 }, (_, n) =>
        askRaw(port, '/api/v1/plans', { 'x-forwarded-for': `2001:db8:1:2::${n + 1}` }).then(
          ({ status }) => status,
        ),
      ),
    );
    t.equal(statuses.filter((status) => status === 429).length, 1);
    t.equal((await askRaw(port, '/docs', { 'x-forwarded-for': '2001:db8:1:3::1' })).status, 200);
  });

  await t.test('a port in X-Forwarded-For does not make a new address', async (t) => {
    for (const sent of [`${from['x-forwarded-for']}:5678`, '[2001:db8:1:2::1]:5678'])
      t.equal((await askRaw(port, '/docs', { 'x-forwarded-for': sent })).status, 429, sent);
  });
});

t.test(
  'an invalid page request gets an HTML error page in a browser, and the JSON error envelope elsewhere',
  async (t) => {
    const { port } = await startTestService(t, 'postgres');
    const accept = 'text/html';
    const page = await askRaw(port, '/docs/search?q=%00', { accept });
    t.equal(page.status, 400);
    t.match(page.headers['content-type'], 'text/html');
    t.match(page.text, 'In the query, <code>q</code> contains a NUL character.');
    const odd = await askRaw(port, `/docs/search?${encodeURIComponent('<img src=x>`')}=%00`, { accept });
    t.notMatch(odd.text, '<img', 'escaped');
    t.match(JSON.parse((await askRaw(port, '/docs/search?q=%00')).text).error.code, 'invalidRequest');
    t.match(JSON.parse((await askRaw(port, '/healthz?x=%00', { accept })).text).error.code, 'invalidRequest');
  },
);
