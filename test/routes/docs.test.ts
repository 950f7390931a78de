import t from 'tap';
import { errorCodes, errorTable } from '../../schemas/errors.ts';
import { pagePaths } from '../../src/dashboard/paths.ts';
import { operationsOf } from '../../src/docs/api-document.ts';
import { guides, parseGuide } from '../../src/docs/guides.ts';
import { guideHtml } from '../../src/docs/markdown.ts';
import { operationUrl } from '../../src/docs/reference.ts';
import { errorUrl } from '../../src/errors.ts';
import { startTestService } from '../support/service.ts';

const publicUrl = 'https://chat.example.com';

const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''));
const linksOf = (page: string) =>
  [...page.matchAll(/ href="([^"]+)"/g)].map(([, href]) => (href ?? '').replaceAll('&#61;', '='));

t.test('server-rendered pages', async (t) => {
  const { app, client } = await startTestService(t, 'postgres', { PUBLIC_URL: publicUrl });
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

  t.test('the header of every page marks its current section', async (t) => {
    for (const [path, part] of [
      ['/docs/guides', '/docs/guides" aria-current="page'],
      ['/docs/guides/keys', '/docs/guides" aria-current="true'],
      ['/docs', '/docs" aria-current="page'],
      ['/docs/api/chat', '/docs" aria-current="true'],
      ['/docs/errors/quotaExceeded', '/docs/errors" aria-current="true'],
    ] as const) {
      const [header = ''] = (await page(path)).match(/<header.+<\/header>/s) ?? [];
      t.same(header.match(/[^"]+" aria-current="\w+/g), [part], path);
    }
    t.notMatch(await page('/docs/search?q=key'), 'aria-current');
  });

  t.test('every page has one search form', async (t) => {
    for (const path of ['/docs', '/docs/guides/keys', '/docs/api/chat', '/docs/errors', '/docs/search?q=key'])
      t.equal((await page(path)).split('action="/docs/search"').length, 2, path);
  });

  t.test('GET /docs/guides: lists every guide in reading order, and links the API reference', async (t) => {
    const index = await page('/docs/guides');
    t.same(
      linksOf(index).filter((link) => link.startsWith('/docs/guides/')),
      [...all.keys()],
    );
    for (const link of ['/docs', '/docs/errors', '/openapi.json']) t.ok(linksOf(index).includes(link), link);
  });

  t.test('GET /docs/guides/{slug}: every link leads to an existing page and anchor', async (t) => {
    const others = new Set<string>([
      ...pagePaths,
      '/docs',
      '/docs/try',
      '/docs/guides',
      '/docs/errors',
      '/docs/search',
      '/openapi.json',
    ]);
    for (const [path, text] of all) {
      for (const link of linksOf(text)) {
        const [target = '', anchor] = link.split('#');
        if (link.startsWith('http') || link.startsWith('/assets/') || others.has(link)) continue;
        if (link.endsWith('.md')) continue;
        const found = all.get(target === '' ? path : target);
        t.ok(found && (anchor === undefined || idsOf(found).has(anchor)), `${path}: ${link}`);
      }
    }
  });

  t.test(
    'GET /docs/guides/{slug}.md, /llms.txt, /llms-full.txt: serve the docs as Markdown for agents',
    async (t) => {
      const read = async (path: string, type: string) => {
        const { headers, status, text } = await client.get(`/${path}`);
        t.equal(status, 200, path);
        t.equal(headers.get('content-type'), `${type}; charset=utf-8`, path);
        return text;
      };
      const index = await read('/llms.txt', 'text/plain');
      t.match(index, /^# Parley\n\n> \S/);
      const urls = [...index.matchAll(/^- \[.+\]\((\S+\/guides\/\S+\.md)\): \S/gm)].map(
        ([, url]) => url ?? '',
      );
      t.same(
        urls,
        guides().map(({ slug }) => `${publicUrl}/docs/guides/${slug}.md`),
      );
      const operations = [...index.matchAll(/\/docs\/api\/(\w+)\.md\)/g)].map(([, id]) => id);
      t.same(
        operations.sort(),
        operationsOf(app.swagger())
          .map(({ operationId }) => operationId)
          .sort(),
      );
      const full = await read('/llms-full.txt', 'text/plain');
      for (const { slug, title } of guides()) {
        const markdown = await read(`/docs/guides/${slug}.md`, 'text/markdown');
        t.match(markdown, `# ${title}\n`);
        t.notMatch(markdown, 'localhost:3000/', slug);
        for (const [, target = ''] of markdown.matchAll(/\]\(([\w-]+)\.md[#)]/g))
          t.ok(all.has(`/docs/guides/${target}`), `${slug}: ${target}`);
        t.match(full, `# ${title}\n`);
        t.match(all.get(`/docs/guides/${slug}`), `href="/docs/guides/${slug}.md"`);
      }
      t.notMatch(full, /\]\((?:[\w-]+\.md|\/)/, 'links are absolute');
      t.match(full, `](${publicUrl}/docs/guides/errors.md#`);
      for (const { summary } of operationsOf(app.swagger())) t.match(full, `\n\n# ${summary}\n\n`);
      for (const code of errorCodes) {
        t.match(index, `\n- [${code}](${publicUrl}/docs/errors/${code}.md): ${errorTable[code].message}\n`);
        t.match(full, `| [${code}](${publicUrl}/docs/errors/${code}.md) | ${errorTable[code].message}`);
      }
    },
  );

  t.test(
    'GET /docs.md, /docs/guides.md, /docs/errors.md, /docs/errors/{code}.md: serve these pages as Markdown',
    async (t) => {
      const pages: Record<string, string[]> = {
        '/docs': operationsOf(app.swagger()).map(operationUrl),
        '/docs/guides': [...all.keys()],
        '/docs/errors': errorCodes.map((code) => errorUrl('', code)),
        '/docs/errors/quotaExceeded': ['/docs/guides/plans', '/docs/guides/quotas', '/docs/api/chat'],
      };
      for (const [path, targets] of Object.entries(pages)) {
        const { headers, status, text } = await client.get(`/${path}.md`);
        t.equal(status, 200, path);
        t.equal(headers.get('content-type'), 'text/markdown; charset=utf-8', path);
        const shown = await page(path);
        t.equal(/^# (.+)\n\n\S/.exec(text)?.[1], /<h1>(.+)<\/h1>/.exec(shown)?.[1], `${path}: the same page`);
        t.match(shown, `data-markdown="${path}.md">Copy page as Markdown<`);
        for (const target of targets) {
          t.match(text, new RegExp(`\\]\\(${target}\\.md[#)]`), `${path}: ${target}.md`);
          t.match(shown, new RegExp(` href="${target}["#]`), `${path}: ${target}`);
        }
      }
      for (const code of errorCodes)
        t.match(
          (await client.get(`//docs/errors/${code}.md`)).text,
          new RegExp(`^# ${code}\n.+What to do: `, 's'),
        );
    },
  );

  t.test(
    'GET /docs/guides/{slug}: shows the prefix of the newest active key of a signed-in reader, and no secret',
    async (t) => {
      const read = async (cookie: string | undefined, path = '/docs/guides/authentication') => {
        const { headers, text } = await client.get(`/${path}`, cookie === undefined ? {} : { cookie });
        t.equal(headers.get('cache-control'), 'no-store', 'only for this reader');
        t.equal(text.split('class="key"').length, 2, 'shown once');
        t.notMatch(text, '<!-- key');
        return text;
      };
      const link = '<a href="/your-api">Create a key</a>';
      const { cookie } = await client.signUp();
      const other = await client.signUp();
      for (const reader of [undefined, 'parley_session=nonsense', cookie]) t.match(await read(reader), link);
      await client.createKey({ cookie }, { name: 'First' });
      const newest = await client.createKey({ cookie }, { name: '<b>Site</b>' });
      for (const path of ['/docs/guides/authentication', '/docs/api/chat']) {
        const text = await read(cookie, path);
        t.match(text, `<code>${newest.key_prefix}…</code>`, path);
        const comments = text.match(/(#|\/\/) PARLEY_KEY: \S+/g);
        t.same(
          new Set(comments),
          new Set(['#', '//'].map((sign) => `${sign} PARLEY_KEY: ${newest.key_prefix}…`)),
        );
        t.match(text, '&#60;b&#62;Site&#60;/b&#62;', 'escaped');
        t.notMatch(text, newest.key, 'no secret');
        t.notMatch(text, link);
        for (const reader of [undefined, other.cookie])
          t.match(
            await read(reader, path),
            /^(?!.*PARLEY_KEY: ).*<a href="\/your-api">Create a key<\/a>/s,
            'other readers',
          );
      }
      t.match(
        await read(cookie, '/docs/guides/getting-started'),
        /id="send-the-first-chat-message".+class="key"/s,
        'not next to the code that sets the variable',
      );
      await client.delete(`/keys/${newest.id}`, { cookie });
      t.match(await read(cookie), /<a[^>]*>First<\/a>/, 'a revoked key is not shown');
    },
  );

  t.test('GET /docs/errors/{code}: every code has a page, and error responses link to it', async (t) => {
    const { body } = await client.get('/models');
    t.equal(body.error.docs, `${publicUrl}/docs/errors/missingCredentials`);
    const index = await page('/docs/errors');
    for (const [position, code] of errorCodes.entries()) {
      t.ok(linksOf(index).includes(`/docs/errors/${code}`), code);
      const text = await page(new URL(errorUrl(publicUrl, code)).pathname);
      t.match(text, `<h1>${code}</h1>`, code);
      t.match(text, `<li>Status: ${errorTable[code].status} `, `${code}: the status`);
      t.match(text, 'What to do: ', `${code}: advice from the guide`);
      t.equal(text.includes('rel="prev"'), position > 0, `${code}: the previous code`);
      t.equal(text.includes('rel="next"'), position < errorCodes.length - 1, `${code}: the next code`);
      for (const link of linksOf(text).filter((link) => link.startsWith('/docs/guides/'))) {
        const [target = '', anchor] = link.split('#');
        const found = all.get(target);
        t.ok(found && (anchor === undefined || idsOf(found).has(anchor)), `${code}: ${link}`);
      }
    }
    const everywhere = linksOf(await page('/docs/errors/internalError')).filter((link) =>
      link.startsWith('/docs/api/'),
    );
    t.same(everywhere, operationsOf(app.swagger()).map(operationUrl));
    const quota = linksOf(await page('/docs/errors/quotaExceeded')).filter((link) =>
      link.startsWith('/docs/api/'),
    );
    t.same(quota, [
      '/docs/api/chat',
      '/docs/api/createChatCompletion',
      '/docs/api/createEmbeddings',
      '/docs/api/createImage',
      '/docs/api/createMessage',
      '/docs/api/createResponse',
      '/docs/api/search',
    ]);
  });

  t.test('GET /docs/errors/{code} 404 notFound: unknown code', async (t) => {
    for (const code of ['nope', 'nope.md', '.md', 'quotaexceeded', 'constructor'])
      t.match(
        await client.get(`//docs/errors/${code}`),
        { status: 404, body: { error: { code: 'notFound' } } },
        code,
      );
  });

  t.test('GET /docs/guides/{slug}: has every heading, and its code calls this service', async (t) => {
    const keys = all.get('/docs/guides/keys') ?? '';
    for (const { anchor } of guides().find(({ slug }) => slug === 'keys')?.sections ?? [])
      t.ok(idsOf(keys).has(anchor), anchor);
    t.match(keys, `${publicUrl}/api/v1/keys`);
    t.notMatch(keys, 'localhost:3000/');
    for (const slug of ['getting-started', 'sdks'])
      t.notMatch(all.get(`/docs/guides/${slug}`) ?? 'missing: localhost:3000', 'localhost:3000', slug);
    t.match(keys, '&#60;API_KEY&#62;', 'escaped');
  });

  t.test('GET /docs/guides/{slug} 404 notFound: unknown guide', async (t) => {
    for (const slug of ['nope', 'nope.md', '.md', '..%2fREADME', 'constructor']) {
      t.match(
        await client.get(`//docs/guides/${slug}`),
        { status: 404, body: { error: { code: 'notFound' } } },
        slug,
      );
    }
  });

  t.test(
    'GET /docs/search: finds sections of guides, operations, and errors, best match first',
    async (t) => {
      const found = async (query: string) => {
        const text = await page(`/docs/search?q=${encodeURIComponent(query)}`);
        return linksOf(text.slice(text.indexOf('role="status"')).split('</ol>')[0] ?? '');
      };
      const begins: [query: string, ...first: string[]][] = [
        ['revoke', '/docs/guides/keys#revoke-or-delete-an-api-key', '/docs/api/revokeKey'],
        ['apiKeyRevoked', '/docs/errors/apiKeyRevoked'],
        ['key revoked', '/docs/errors/apiKeyRevoked'],
        ['rotateKey', '/docs/api/rotateKey'],
        ['allowed origins'],
        ['idempotancy'],
        ['ollama'],
      ];
      for (const [query, ...first] of begins) {
        const links = await found(query);
        t.ok(links.length > 0, query);
        for (const link of first)
          t.ok(links.slice(0, 4).includes(link), `${query}: ${link} of ${links.slice(0, 4)}`);
        for (const link of links) {
          const [target = '', anchor] = link.split('#');
          if (target === '/docs') continue;
          const reached = all.get(target) ?? (await page(target));
          t.ok(anchor === undefined || idsOf(reached).has(anchor), `${query}: ${link}`);
        }
      }
      t.equal(
        (await found('reset password'))[0],
        '/docs/guides/accounts#i-forgot-my-password-how-to-reset-it',
      );
      t.match(await found('idempotancy'), [/idempoten/], 'a typo');
      const seen: string[] = [];
      let next: string | undefined = '/docs/search?q=key';
      let pages = 0;
      for (; next && pages < 50; pages += 1) {
        const text: string = await page(next);
        t.match(text, new RegExp(`>Results ${seen.length + 1} to \\d+ of \\d+ for “key”<`));
        const [list = '', links = ''] = text.slice(text.indexOf('<ol class="results"')).split('</ol>');
        seen.push(...linksOf(list));
        t.equal(/rel="prev"/.test(links), pages > 0, 'every page but the first links back');
        next = /rel="next" href="([^"]+)"/
          .exec(links)?.[1]
          ?.replaceAll('&#38;', '&')
          .replaceAll('&#61;', '=');
        if (next === undefined)
          t.match(text, ` of ${seen.length} for “key”<`, 'the last page ends with the last result');
      }
      t.ok(pages > 1);
      t.equal(new Set(seen).size, seen.length, 'no duplicate results');
      t.match(await page('/docs/search?q=key&page=100'), ` to ${seen.length} of ${seen.length} for`);
      t.equal((await client.get('//docs/search?q=key&page=0')).status, 400);
      t.match(await page('/docs/search?q=xyzzy'), 'No results for “xyzzy”');
      const odd = await page(`/docs/search?q=${encodeURIComponent('"><b>')}`);
      t.notMatch(odd, '<b>', 'escaped');
      t.notMatch(await page('/docs/search'), 'role="status"', 'no query');
      t.equal((await client.get(`//docs/search?q=${'a'.repeat(201)}`)).status, 400);
    },
  );

  t.test("every page may load only the service's icon, styles, font, and two scripts", async (t) => {
    for (const path of [
      '/docs',
      '/docs/api/chat',
      '/docs/guides',
      '/docs/guides/keys',
      '/docs/errors/notFound',
      '/docs/search?q=key',
    ]) {
      const { headers, text } = await client.get(`/${path}`);
      const scripts = linksOf(text.replaceAll(' src="', ' href="')).filter((link) => link.includes('.js?'));
      t.equal(scripts.length, 2);
      t.match(text, /<link rel="icon" type="image\/svg\+xml" href="\/assets\/favicon-[\w-]+\.svg">/);
      t.equal(
        headers.get('content-security-policy'),
        `default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; ${text.includes('Copy page as Markdown') ? "connect-src 'self'; " : ''}base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      );
      t.equal(headers.get('x-content-type-options'), 'nosniff');
      t.notMatch(text, /<script>|<style| style=| on\w+=|<img/i);
      t.match(text, '<html lang="en">');
      const stylesheet = linksOf(text).find((link) => link.startsWith('/assets/page.css'));
      const style = await client.get(`/${stylesheet}`);
      t.equal(style.status, 200);
      t.equal(style.headers.get('content-type'), 'text/css; charset=utf-8');
      t.match(style.headers.get('cache-control'), 'immutable');
    }
  });

  t.test(
    'an unknown guide, code, or operation returns a page for browsers, and the JSON error for other clients',
    async (t) => {
      for (const path of ['//docs/guides/none', '//docs/errors/%3Cb%3E', '//docs/api/none']) {
        const page = await client.get(path, { headers: { accept: 'text/html,*/*' } });
        t.equal(page.status, 404);
        t.match(page.headers.get('content-type'), 'text/html');
        t.match(page.text, /<h1>This (guide|error code|operation) does not exist<\/h1>/);
        t.match(await client.get(path), { status: 404, body: { error: { code: 'notFound' } } });
      }
    },
  );

  t.test('GET /openapi.json: serves the document with the public URL', async (t) => {
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

t.test('guideHtml: escapes HTML in a guide, and links lead to pages', async (t) => {
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
