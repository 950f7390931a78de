import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { pagePaths } from '../../src/dashboard/paths.ts';
import { projectRoot } from '../../src/project.ts';
import { startTestService } from '../support/service.ts';

const MAX_BYTES = 250_000;
const notBuilt =
  !existsSync(new URL('dist/dashboard/index.html', projectRoot)) && 'the dashboard is not built: make test';

const filesOf = (page: string) =>
  [...page.matchAll(/ (?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');

t.test('the dashboard', { skip: notBuilt }, async (t) => {
  const { client } = await startTestService(t, 'postgres');

  t.test(
    'GET and HEAD of every page return the page, with a fresh nonce in its Content-Security-Policy',
    async (t) => {
      const nonces = new Set<string>();
      for (const path of pagePaths) {
        const { headers, status, text } = await client.get(`/${path}`);
        t.equal(status, 200, path);
        t.equal(headers.get('content-type'), 'text/html; charset=utf-8', path);
        t.equal(headers.get('cache-control'), 'no-store', path);
        const policy = headers.get('content-security-policy') ?? '';
        const nonce = /<meta name="csp-nonce" content="([^"]{20,})">/.exec(text)?.[1] ?? 'none';
        t.match(policy, `style-src 'self' 'nonce-${nonce}'`, path);
        t.match(policy, /^default-src 'none'; script-src 'self';.* connect-src 'self';/, path);
        t.notMatch(policy, /unsafe|\*|https?:/, path);
        nonces.add(nonce);
        const head = await client.request('HEAD', `/${path}`);
        t.match({ status: head.status, text: head.text }, { status: 200, text: '' }, path);
      }
      t.equal(nonces.size, pagePaths.length);
    },
  );

  t.test('other URLs return their usual responses', async (t) => {
    for (const path of ['/nothing', '/your-api/nothing', '/assets/nothing.js', '/assets/../index.html'])
      t.match(await client.get(`/${path}`), { status: 404, body: { error: { code: 'notFound' } } }, path);
    for (const path of ['//healthz', '//openapi.json', '/plans'])
      t.match((await client.get(path)).headers.get('content-type'), 'application/json', path);
    t.match((await client.get('//docs/guides')).text, '<h1>Guides</h1>');
    const post = await client.request('POST', '//your-api');
    t.match(post, { status: 405, body: { error: { code: 'methodNotAllowed' } } });
    t.equal(post.headers.get('allow'), 'GET, HEAD');
  });

  t.test('an unknown URL returns a page for browsers, and the JSON error for other clients', async (t) => {
    const browser = {
      headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
    };
    for (const path of ['/nothing', '/your-api/nothing', '/chat/one/two', '/apis', '/assets/nothing.js']) {
      const { headers, status, text } = await client.get(`/${path}`, browser);
      t.match({ status, text }, { status: 404, text: /<div id="root">/ }, path);
      t.match(headers.get('content-security-policy'), /'nonce-/, path);
      t.equal(headers.get('cache-control'), 'no-store', path);
      t.match(await client.get(`/${path}`), { status: 404, body: { error: { code: 'notFound' } } }, path);
    }
    for (const path of ['//api', '//api/v1/nothing', '//api/v2/keys', '//api?x=1'])
      t.match(await client.get(path, browser), { status: 404, body: { error: { code: 'notFound' } } }, path);
    const head = await client.request('HEAD', '//nothing', browser);
    t.match({ status: head.status, text: head.text }, { status: 404, text: '' });
    const post = await client.request('POST', '//nothing', browser);
    t.match(post, { status: 404, body: { error: { code: 'notFound' } } });
  });

  t.test(
    'assets are immutable, compressed as the browser accepts, and under 250 kB for the first load',
    async (t) => {
      const { text } = await client.get('//');
      const files = filesOf(text).filter((file) => /\.(js|css)$/.test(file));
      t.ok(files.length >= 2, files.join(' '));
      let bytes = 0;
      for (const file of files) {
        for (const encoding of ['br', 'gzip', 'identity']) {
          const answer = await client.get(`/${file}`, { headers: { 'accept-encoding': encoding } });
          t.equal(answer.status, 200, file);
          t.equal(answer.headers.get('content-encoding'), encoding === 'identity' ? null : encoding, file);
          t.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable', file);
          t.equal(answer.headers.get('vary'), 'Accept-Encoding', file);
          t.match(answer.headers.get('content-type'), file.endsWith('.js') ? /javascript/ : /css/, file);
          t.equal(answer.headers.get('x-content-type-options'), 'nosniff', file);
          if (encoding === 'identity') bytes += gzipSync(answer.text).length;
        }
      }
      t.comment(`first load: ${Math.round(bytes / 1000)} kB compressed`);
      t.ok(bytes < MAX_BYTES, `${bytes} bytes`);
    },
  );
});
