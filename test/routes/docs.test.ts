import t from 'tap';
import { errorCodes } from '../../schemas/errors.ts';
import { guides, parseGuide } from '../../src/domain/guides.ts';
import { guideHtml } from '../../src/pages/markdown.ts';
import { startTestService } from '../support/service.ts';

const publicUrl = 'https://chat.example.com';

const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''));
const linksOf = (page: string) =>
  [...page.matchAll(/ href="([^"]+)"/g)].map(([, href]) => (href ?? '').replaceAll('&#61;', '='));

t.test('the plain pages', async (t) => {
  const { app, client } = await startTestService(t, 'embedded', { PUBLIC_URL: publicUrl });
  const page = async (path: string) => {
    const { headers, status, text } = await client.get(`/${path}`);
    t.equal(status, 200, path);
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8', path);
    return text;
  };
  const all = new Map<string, string>(
    await Promise.all(
      guides().map(async ({ slug }) => [`/docs/guides/${slug}`, await page(`/docs/guides/${slug}`)] as const),
    ),
  );

  t.test('GET /docs: names every guide, in reading order, and the description of the API', async (t) => {
    const index = await page('/docs');
    t.same(
      linksOf(index).filter((link) => link.startsWith('/docs/guides/')),
      [...all.keys()],
    );
    t.ok(linksOf(index).includes('/openapi.json'));
  });

  t.test('GET /docs/guides/{slug}: every link of a page leads to a page, and to a place on it', async (t) => {
    const others = new Set(['/', '/docs', '/openapi.json']);
    for (const [path, text] of all) {
      for (const link of linksOf(text)) {
        const [target = '', anchor] = link.split('#');
        if (link.startsWith('http') || link.startsWith('/assets/') || others.has(link)) continue;
        const found = all.get(target === '' ? path : target);
        t.ok(found && (anchor === undefined || idsOf(found).has(anchor)), `${path}: ${link}`);
      }
    }
  });

  t.test(
    'GET /docs/guides/errors: every code of an operation has the section that its answers link to',
    async (t) => {
      const ids = idsOf(all.get('/docs/guides/errors') ?? '');
      const documented = JSON.stringify(app.swagger().paths);
      for (const code of errorCodes.filter((code) => documented.includes(`\`${code}\``)))
        t.ok(ids.has(code.toLowerCase()), code);
    },
  );

  t.test(
    'GET /docs/guides/{slug}: has all headings and code of the guide, calling this service',
    async (t) => {
      const keys = all.get('/docs/guides/keys') ?? '';
      for (const { anchor } of guides().find(({ slug }) => slug === 'keys')?.sections ?? [])
        t.ok(idsOf(keys).has(anchor), anchor);
      t.match(keys, `${publicUrl}/api/v1/keys`);
      t.notMatch(keys, 'localhost:3000/');
      t.match(keys, '&#60;API_KEY&#62;', 'escaped');
    },
  );

  t.test('GET /docs/guides/{slug} 404 notFound: no such guide', async (t) => {
    for (const slug of ['nope', 'keys.md', '..%2fREADME', 'constructor']) {
      t.match(
        await client.get(`//docs/guides/${slug}`),
        { status: 404, body: { error: { code: 'notFound' } } },
        slug,
      );
    }
  });

  t.test('pages: nothing but the own stylesheet may load', async (t) => {
    for (const path of ['/docs', '/docs/guides/keys']) {
      const { headers, text } = await client.get(`/${path}`);
      t.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      t.equal(headers.get('x-content-type-options'), 'nosniff');
      t.notMatch(text, /<script|<style| style=| on\w+=|<img/i);
      t.match(text, '<html lang="en">');
      const stylesheet = linksOf(text).find((link) => link.startsWith('/assets/'));
      const style = await client.get(`/${stylesheet}`);
      t.equal(style.status, 200);
      t.equal(style.headers.get('content-type'), 'text/css; charset=utf-8');
      t.match(style.headers.get('cache-control'), 'immutable');
    }
  });

  t.test('GET /openapi.json: the document, served from the public address', async (t) => {
    const { body, headers, status } = await client.get('//openapi.json');
    t.equal(status, 200);
    t.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    t.match(body, {
      openapi: '3.1.0',
      servers: [{ url: publicUrl }],
      paths: { '/api/v1/search': { post: { operationId: 'search' } } },
    });
    t.notOk(
      Object.keys(body.paths).some(
        (path) => path === '/' || path.startsWith('/docs') || path.startsWith('/assets'),
      ),
    );
  });
});

t.test('guideHtml: HTML in a guide is text, its links lead to pages', async (t) => {
  const guide = parseGuide(
    'x',
    [
      '# X\n\nSummary.',
      '## A `b`\n\n<b onclick="x">d</b> [e](keys.md#f) [g](#h) [i](https://example.com/?a=1&b=2)',
      '## A b\n\n| | j |\n|---|---|\n| k | `<l>` |',
      '## m\n',
    ].join('\n\n'),
  );
  t.same(
    guide.sections.map(({ anchor }) => anchor),
    ['a-b', 'a-b-1', 'm'],
  );
  const { opening, sections } = guideHtml(guide, publicUrl);
  t.equal(opening, '<h1>X</h1><p>Summary.</p>\n');
  t.notMatch(sections, /<b|<l>/);
  t.match(sections, 'href="/docs/guides/keys#f"');
  t.match(sections, 'href="/docs/guides/x#h"');
  t.match(sections, 'href="https://example.com/?a&#61;1&#38;b&#61;2"');
  t.match(sections, '<td></td><th>j</th>');
  t.same([...idsOf(sections)], ['a-b', 'a-b-1', 'm']);
});
