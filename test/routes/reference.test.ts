import { existsSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { operationsOf } from '../../src/docs/api-document.ts';
import { operationUrl } from '../../src/docs/reference.ts';
import { projectRoot } from '../../src/project.ts';
import { type Body, type OpenApi, resolved } from '../support/response-checker.ts';
import { startTestService } from '../support/service.ts';

const publicUrl = 'https://chat.example.com';
const built = new URL('dist/reference/', projectRoot);
const notBuilt =
  !(existsSync(built) && readdirSync(built).some((name) => name.endsWith('.js'))) &&
  'the reference is not built: make test';
/** The size when the renderer was chosen, with some room: docs/decisions/0015-the-api-reference.md. */
const MAX_BYTES = 1_450_000;

const filesOf = (page: string) =>
  [...page.matchAll(/ (?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) =>
    (file ?? '').replaceAll('&#61;', '='),
  );

/** The error codes in the examples of an operation's responses. */
const errorCodesOf = (document: OpenApi, { responses }: Body): string[] =>
  Object.entries<Body>(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, response]) => {
      const { examples = {} } = resolved<Body>(document, response).content['application/json'];
      return Object.values<Body>(examples).map(
        (example) => resolved<Body>(document, example).value.error.code,
      );
    });

t.test('the interactive API reference', { skip: notBuilt }, async (t) => {
  const { app, client } = await startTestService(t, 'postgres', { PUBLIC_URL: publicUrl });

  t.test(
    "GET /docs/try: allows scripts only from the service's origin, and has a new nonce each time",
    async (t) => {
      const nonces = new Set<string>();
      for (let time = 0; time < 2; time += 1) {
        const { headers, status, text } = await client.get('//docs/try');
        t.equal(status, 200);
        const policy = headers.get('content-security-policy') ?? '';
        const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
        nonces.add(nonce);
        t.equal(
          policy,
          `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
        );
        t.match(text.replaceAll('&#61;', '='), `<meta property="csp-nonce" content="${nonce}">`);
        t.notMatch(text, /<script>|<style| style=| on\w+=|https?:/i);
        for (const link of ['/', '/docs', '/docs/guides', '/docs/errors'])
          t.match(text, `href="${link}"`, link);
        t.match(text, 'action="/docs/search"');
        t.match(text, 'data-document="/docs/openapi.json"');
      }
      t.equal(nonces.size, 2);
    },
  );

  t.test('GET /docs/try: shows the prefix of the newest active key of a signed-in reader', async (t) => {
    const { cookie } = await client.signUp();
    const { key_prefix } = await client.createKey({ cookie }, { name: '<b>Site</b>' });
    const { headers, text } = await client.get('//docs/try', { cookie });
    t.equal(headers.get('cache-control'), 'no-store', 'only for this reader');
    t.match(text, `<code>${key_prefix}…</code>`);
    t.match(text, '&#60;b&#62;Site&#60;/b&#62;', 'escaped');
    t.match(
      (await client.get('//docs/try')).text,
      '<a href="/your-api">Create a key</a>',
      'nobody is signed in',
    );
  });

  t.test('assets are immutable and compressed as the browser accepts', async (t) => {
    const typeOf: Record<string, RegExp> = {
      js: /\/javascript\b/,
      css: /^text\/css\b/,
      svg: /^image\/svg\+xml\b/,
    };
    const { text } = await client.get('//docs/try');
    let bytes = gzipSync((await client.get('//docs/openapi.json')).text).length;
    for (const file of filesOf(text)) {
      for (const encoding of file.includes('/reference/') ? ['br', 'gzip', 'identity'] : ['identity']) {
        const answer = await client.get(`/${file}`, { headers: { 'accept-encoding': encoding } });
        t.equal(answer.status, 200, file);
        t.equal(answer.headers.get('content-encoding'), encoding === 'identity' ? null : encoding, file);
        t.match(answer.headers.get('cache-control'), /^public, max-age=31536000, immutable$/, file);
        const [, extension = ''] = /\.(\w+)(?:\?|$)/.exec(file) ?? [];
        t.match(answer.headers.get('content-type'), typeOf[extension], file);
        if (encoding === 'identity') bytes += gzipSync(answer.text).length;
      }
    }
    t.equal(filesOf(text).length, 6);
    t.comment(`first load: ${Math.round(bytes / 1000)} kB compressed`);
    t.ok(bytes < MAX_BYTES, `${bytes} bytes`);
  });

  t.test('assets ignore ranges and return 412 for failed preconditions, but never a 500', async (t) => {
    const { text } = await client.get('//docs/try');
    for (const file of filesOf(text).filter((name) => name.endsWith('.js'))) {
      for (const range of ['bytes=99999999-', 'bytes=-0', 'bytes=0-0', 'bytes=0-0,2-2'])
        t.equal((await client.get(`/${file}`, { headers: { range } })).status, 200, range);
      for (const headers of [
        { 'if-match': '"x"' },
        { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
      ]) {
        const answer = await client.get(`/${file}`, { headers });
        t.match(answer, { status: 412, text: '' }, Object.keys(headers).join());
      }
    }
    t.equal((await client.get('//assets/reference/.built-from')).status, 404);
  });

  t.test('GET /docs/openapi.json: has the operations of /openapi.json, with code samples', async (t) => {
    const { body: served } = await client.get('//openapi.json');
    const { body: shown, headers } = await client.get('//docs/openapi.json');
    t.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    t.same(shown.components, served.components, 'the same components');
    t.same(Object.keys(shown.paths), Object.keys(served.paths));
    t.same(shown.servers, [{ url: '/' }], "requests go to the page's origin");
    for (const { method, operationId, path } of operationsOf(app.swagger())) {
      const { 'x-codeSamples': samples, parameters = [], ...rest } = shown.paths[path][method.toLowerCase()];
      const { parameters: _, ...same } = served.paths[path][method.toLowerCase()];
      t.same(rest, same, operationId);
      t.same(
        samples.map(({ label }: { label: string }) => label),
        ['curl', 'JavaScript', 'Python'],
        operationId,
      );
      for (const { source } of samples) {
        t.match(source, `${publicUrl}${path.split('{')[0]}`, operationId);
        t.notMatch(source, /[{}]id|undefined|localhost/, operationId);
        t.equal(
          /-d '|body: |data=/.test(source),
          rest.requestBody !== undefined,
          `${operationId}: has a body if the operation has one`,
        );
      }
      for (const { examples, required } of parameters)
        for (const example of Object.values<Record<string, unknown>>(examples ?? {}))
          t.equal(
            example['x-disabled'],
            required ? undefined : true,
            `${operationId}: optional parameters are not filled in`,
          );
    }
    t.match(shown.info.description, served.info.description);
  });

  t.test('unknown paths under /docs and /assets return 404 notFound', async (t) => {
    for (const path of [
      '//docs/nothing',
      '//assets/reference/nothing.js',
      '//assets/reference/../index.html',
    ])
      t.match(await client.get(path), { status: 404, body: { error: { code: 'notFound' } } }, path);
  });
});

t.test('the API reference', async (t) => {
  const { app, client } = await startTestService(t, 'postgres', { PUBLIC_URL: publicUrl });
  const operations = operationsOf(app.swagger());
  const linksOf = (text: string) => [...text.matchAll(/ href="([^"]+)"/g)].map(([, target = '']) => target);

  t.test('GET /docs: lists every operation once, by tag', async (t) => {
    const { status, text } = await client.get('//docs');
    t.equal(status, 200);
    const listed = linksOf(text).filter((target) => target.startsWith('/docs/api/'));
    t.same([...listed].sort(), operations.map(operationUrl).sort());
    for (const { tag } of operations) t.match(text, `<h2 id="${tag.toLowerCase()}">`);
  });

  t.test('each page has all fields, parameters, errors, and samples of its operation', async (t) => {
    const { body: document } = await client.get('//docs/openapi.json');
    for (const operation of operations) {
      const { method, operationId, path } = operation;
      const { status, text } = await client.get(`/${operationUrl(operation)}`);
      t.equal(status, 200, operationId);
      const markdown = await client.get(`/${operationUrl(operation)}.md`);
      t.match(markdown.headers.get('content-type'), /^text\/markdown/);
      const documented = document.paths[path][method.toLowerCase()];
      const wanted = [
        `${method} ${path}`,
        ...(documented.parameters ?? []).map(({ name }: { name: string }) => name),
        ...errorCodesOf(document, documented),
      ];
      for (const word of wanted) {
        t.ok(text.includes(word), `${operationId}: ${word}`);
        t.ok(markdown.text.includes(word), `${operationId}.md: ${word}`);
      }
      const body = documented.requestBody?.content['application/json'].schema;
      for (const name of Object.keys(body ? (resolved<Body>(document, body).properties ?? {}) : {}))
        t.match(markdown.text, `| \`${name}\``, `${operationId}: ${name}`);
      for (const { source } of documented['x-codeSamples'])
        t.ok(markdown.text.includes(source.trimEnd()), `${operationId}: sample`);
      const [opening = '', samples = ''] = markdown.text.split(/^## /m);
      const description = operation.description.replace(/(?<=\]\(\/docs[^)#]*)(?=[)#])/g, '.md');
      t.ok(opening.includes(description), `${operationId}: the description first`);
      t.match(samples, /^Samples\n\n```bash\ncurl /, `${operationId}: then the samples`);
      t.equal(
        /<h2 id="([^"]+)"/.exec(text)?.[1],
        'samples',
        `${operationId}: samples come first on the page`,
      );
      t.equal(text.split('<h2 id="samples"').length, 2, `${operationId}: samples once`);
      const about = documented.requestBody?.description;
      if (about !== undefined)
        t.ok(
          markdown.text.includes(`\n\n## Body\n\n${about}`),
          `${operationId}: the description of the body`,
        );
      t.notMatch(markdown.text, /undefined|\[object/, operationId);
    }
    t.match(await client.get('//docs/api/nothing'), { status: 404, body: { error: { code: 'notFound' } } });
  });

  t.test('the chat completions page says that other fields, such as tools, reach the model', async (t) => {
    const { text } = await client.get('//docs/api/createChatCompletion');
    t.match(
      text.slice(text.indexOf('<h2 id="body"'), text.indexOf('<h2 id="response"')),
      /<code>tools<\/code>, <code>response_format<\/code>.+passed to the model unchanged.+<table>/s,
    );
  });

  t.test('pages show the paths, types, and bounds of nested fields and variants', async (t) => {
    const { text } = await client.get('//docs/api/createChatCompletion.md');
    for (const row of [
      /\| `messages` \*\*required\*\* \| array of objects \|/,
      /\| `messages\[\]\.content` \| string or array of objects or null \|/,
      /\| `choices\[\]\.message\.role` \| `"assistant"` \|/,
      /\| `stream_options\.include_usage` \| boolean or null \|/,
      /\| `messages` .* 1 to 2,000 items\. \|/,
      /\| `messages\[\]\.content\[\]\.type` .* 1 to 60 characters\. \|/,
      /\| `temperature` .* At most 2\. \|/,
      /\| `data<ErrorResponse>\.error\.code` \| string \|/,
    ])
      t.match(text, row);
    const { text: list } = await client.get('//docs/api/listConversations.md');
    t.match(list, /\| `limit` \| integer \| .* Default `20`\. \|/);
  });
});
