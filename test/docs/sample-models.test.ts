// Samples name models that the service offers, quoted as the language of the sample requires.
import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { marked, type Token, type Tokens } from 'marked';
import t from 'tap';
import { operationsOf } from '../../src/docs/api-document.ts';
import { guides } from '../../src/docs/guides.ts';
import { operationUrl } from '../../src/docs/reference.ts';
import { keptForModels, withOwnModels } from '../../src/docs/sample-models.ts';
import { builtinModel } from '../../src/domain/builtin-models.ts';
import { defaultPlans } from '../../src/domain/plans.ts';
import type { Model } from '../../src/engines/types.ts';
import { ownModels } from '../../src/routes/docs-reader.ts';
import { startTestService } from '../support/service.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

/** Its characters end a string, a word, a code span, an element, or a part of a URL. */
const CHAT = `it's "my" \\ \`model\` $& </code>/1`;
const VECTORS = `o'vec"tors`;

const fileOf = (chat: string, embeddings: string) => {
  const targets = [{ upstream: 'a' }];
  return {
    upstreams: [{ name: 'a', kind: 'openai', url: 'http://127.0.0.1:9/v1' }],
    models: [
      { name: embeddings, task: 'embeddings', targets },
      { name: 'for-others', plans: ['pro'], targets },
      { name: chat, targets },
    ],
  };
};

/** Texts that a sample compares, and a question about an image. */
const notAsked = new Set<string | undefined>([
  'How can I create a key?',
  'Where are my invoices?',
  'What does this show?',
]);

const blocksOf = (markdown: string): Tokens.Code[] =>
  marked.lexer(markdown).filter((token: Token): token is Tokens.Code => token.type === 'code');

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };

const decoded = (html: string) =>
  html
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '');

const shownBlocks = (page: string) =>
  [...page.matchAll(/<pre[^>]*><code>(.*?)<\/code><\/pre>/gs)].map(([, text = '']) => decoded(text));

/** The arguments that a shell passes to curl. */
function argumentsOf(code: string): string[] {
  const stub = `curl() { printf '%s\\0' "$@"; }`;
  return execFileSync('sh', ['-c', `${stub}\n${code}`], { encoding: 'utf8' }).split('\0');
}

const bodyOf = (code: string) => JSON.parse(argumentsOf(code).find((one) => one.startsWith('{')) ?? '{}');

const literals: Record<string, RegExp> = {
  js: /(?:\bmodel: |parley\()('(?:[^'\\]|\\.)*')/g,
  python: /\bmodel=("(?:[^"\\]|\\.)*")/g,
  json: /"(?:model|id|first_id|last_id|display_name)": ("(?:[^"\\]|\\.)*")/g,
  http: /"model":("(?:[^"\\]|\\.)*")/g,
};

/** The model names in a sample, as its language parses them. */
function namesIn({ lang = '', text }: Pick<Tokens.Code, 'lang' | 'text'>): string[] {
  if (lang === 'bash') {
    if (!text.startsWith('curl ') || text.includes('RESPONSE_ID')) return [];
    const [, inUrl] = /\/models\/(\S+)/.exec(text) ?? [];
    return inUrl === undefined ? [bodyOf(text).model ?? []].flat() : [decodeURIComponent(inUrl)];
  }
  return [...text.matchAll(literals[lang] ?? /$^/g)].map(([, literal]) => runInNewContext(literal ?? ''));
}

t.test('samples of a service with its own models', async (t) => {
  const file = upstreamsFile(fileOf(CHAT, VECTORS));
  const { app, client, reload } = await startTestService(t, 'embedded', file.env);
  const textOf = async (path: string) => {
    const { status, text } = await client.get(`/${path}`);
    t.equal(status, 200, path);
    return text;
  };

  t.test('guides: code never names a built-in model, on the page or in its Markdown', async (t) => {
    const full = await textOf('/llms-full.txt');
    for (const { slug } of guides()) {
      const markdown = await textOf(`/docs/guides/${slug}.md`);
      const blocks = blocksOf(markdown);
      for (const { text } of blocks) t.notMatch(text, 'parley-builtin', slug);
      t.notMatch(markdown, /['"/]parley-builtin/, slug);
      const page = await textOf(`/docs/guides/${slug}`);
      const texts = blocks.map(({ text }) => text);
      const shown = shownBlocks(page);
      for (const text of shown) t.notMatch(text, 'parley-builtin', `${slug}: the page`);
      t.same(
        shown.filter((text) => texts.includes(text)),
        texts,
        `${slug}: the page has the same code, plus samples in more languages`,
      );
      for (const { text } of blocks) t.ok(full.includes(text), slug);
    }
  });

  t.test('guides: in each language, the model name is the default model of new accounts', async (t) => {
    const expected: [slug: string, lang: string, count: number, name: string][] = [
      ['openai-compatible', 'python', 1, CHAT],
      ['openai-compatible', 'js', 1, CHAT],
      ['openai-compatible', 'bash', 2, CHAT],
      ['anthropic-compatible', 'js', 1, CHAT],
      ['anthropic-compatible', 'bash', 2, CHAT],
      ['models', 'bash', 2, CHAT],
      ['frameworks', 'js', 7, CHAT],
      ['streaming', 'python', 1, CHAT],
      ['streaming', 'js', 1, CHAT],
      ['streaming', 'http', 2, CHAT],
      ['chat', 'json', 1, CHAT],
      ['embeddings', 'python', 1, VECTORS],
      ['embeddings', 'js', 1, VECTORS],
      ['embeddings', 'json', 1, VECTORS],
    ];
    for (const [slug, lang, count, name] of expected) {
      const blocks = blocksOf(await textOf(`/docs/guides/${slug}.md`));
      const names = blocks.filter((block) => block.lang === lang).flatMap(namesIn);
      t.equal(names.filter((one) => one === name).length, count, `${slug}: ${lang}`);
    }
    const [, span = ''] = /`parley\.chat\(([^`]*)\)`/.exec(await textOf('/docs/guides/frameworks.md')) ?? [];
    t.equal(runInNewContext(span), CHAT, 'code in a sentence');
    t.match(decoded(await textOf('/docs/guides/frameworks')), `<code>parley.chat(${span})</code>`);
  });

  t.test('guides and operations: samples never ask a model about Parley', async (t) => {
    const document = await textOf('/docs/openapi.json');
    const texts: [path: string, text: string][] = [['/docs/openapi.json', document]];
    for (const path of ['/llms-full.txt', '/docs/guides/chat.md', '/docs/api/chat.md'])
      texts.push([
        path,
        blocksOf(await textOf(path))
          .map(({ text }) => text)
          .join('\n'),
      ]);
    for (const path of ['/docs/guides/frameworks', '/docs/guides/streaming', '/docs/api/createMessage'])
      texts.push([path, shownBlocks(await textOf(path)).join('\n')]);
    for (const [path, text] of texts)
      t.same(
        [...text.matchAll(/(['"])([A-Z][^'"\n]*\?)\1/g)]
          .map(([, , question]) => question)
          .filter((question) => !notAsked.has(question)),
        [],
        path,
      );
    const sample = bodyOf(blocksOf(await textOf('/docs/guides/chat.md'))[0]?.text ?? '');
    t.same(
      sample,
      { message: 'Write a haiku about the sea.' },
      'the sample sends the prompt that the dashboard suggests',
    );
    t.match(document, '"reply":"Waves fold into foam,', 'the example reply fits the prompt');
    t.notMatch(document, 'Open \\"Your API');
  });

  t.test('guides: sentences about the built-in engine keep its name', async (t) => {
    for (const [slug, heading] of [
      ['models', 'What parley-builtin is'],
      ['embeddings', 'Parley&#39;s built-in engine, <code>parley-builtin-embeddings</code>'],
      ['connect-a-model', 'If you see <code>parley-builtin</code>'],
    ] as const)
      t.ok((await textOf(`/docs/guides/${slug}`)).includes(heading), slug);
  });

  t.test("operations: samples, examples, and the form at /docs/try name the service's models", async (t) => {
    const { body: document } = await client.get('//docs/openapi.json');
    for (const operation of operationsOf(app.swagger())) {
      const { method, operationId, path } = operation;
      const markdown = await textOf(`${operationUrl(operation)}.md`);
      const page = await textOf(operationUrl(operation));
      const samples: { label: string; source: string }[] =
        document.paths[path][method.toLowerCase()]['x-codeSamples'];
      for (const { source } of samples) {
        t.notMatch(source, 'parley-builtin', operationId);
        t.ok(markdown.includes(source), operationId);
        t.ok(shownBlocks(page).includes(source), operationId);
      }
      // These examples show a service with the built-in engines, and a file.
      if (!['getService', 'exportRequests'].includes(operationId))
        for (const { text } of blocksOf(markdown)) t.notMatch(text, 'parley-builtin', operationId);
    }
    const sampleOf = (operationId: string, label: string): string => {
      const { method, path } =
        operationsOf(app.swagger()).find((one) => one.operationId === operationId) ?? {};
      const samples = document.paths[path ?? ''][(method ?? '').toLowerCase()]['x-codeSamples'];
      return samples.find((one: { label: string }) => one.label === label).source;
    };
    for (const operationId of ['createChatCompletion', 'createResponse', 'createMessage'])
      t.equal(bodyOf(sampleOf(operationId, 'curl')).model, CHAT, operationId);
    for (const label of ['curl', 'JavaScript', 'Python']) {
      const [, inUrl = ''] = /\/models\/([\w.%~-]+)(?:['" ]|$)/m.exec(sampleOf('getModel', label)) ?? [];
      t.equal(decodeURIComponent(inUrl), CHAT, label);
    }
    const { examples } = document.components;
    t.match(examples.getModelResponseBuiltin.value, { id: CHAT, owned_by: 'upstream', created: 0 });
    t.equal(examples.createEmbeddingsResponseVectors.value.model, VECTORS);
    for (const name of ['createChatCompletion', 'createResponse', 'createMessage'])
      t.equal(examples[`${name}RequestQuestion`].value.model, CHAT, `${name}: the form`);
    t.equal(examples.getServiceResponseStandard.value.engine.default_model, 'parley-builtin');
    const { body: contract } = await client.get('//openapi.json');
    t.equal(contract.components.examples.getModelResponseBuiltin.value.id, 'parley-builtin');
  });

  t.test('after the upstreams file is reloaded, guides and operations name the new models', async (t) => {
    file.write(fileOf('renamed', 'renamed-vectors'));
    reload();
    for (const path of [
      '/docs/guides/openai-compatible',
      '/docs/guides/openai-compatible.md',
      '/llms-full.txt',
      '/docs/api/createChatCompletion',
      '/docs/api/createChatCompletion.md',
      '/docs/openapi.json',
    ]) {
      const text = decoded(await textOf(path));
      t.match(text, /"renamed"/, path);
      t.notMatch(text, 'vec\\"tors', path);
      t.notMatch(text, `it's`, path);
    }
    t.match(await textOf('/docs/guides/embeddings.md'), '"model": "renamed-vectors"');
  });
});

t.test('samples of a service with the built-in engines name the built-in models', async (t) => {
  const { client } = await startTestService(t, 'embedded');
  t.match((await client.get('//docs/guides/getting-started.md')).text, 'How do I create an API key?');
  t.match((await client.get('//docs/openapi.json')).text, '"message":"How do I create a key?"');
  for (const { slug, markdown } of guides())
    t.equal(
      (await client.get(`//docs/guides/${slug}.md`)).text.match(/parley-builtin/g)?.length,
      markdown.match(/parley-builtin/g)?.length,
      slug,
    );
});

const modelNamed = (id: string, plans?: string[]): Model => ({
  id,
  object: 'model',
  created: 1,
  owned_by: 'someone',
  ...(plans && { plans }),
});

/** A service with these chat models. */
const serviceWith = (
  models: () => Promise<Model[]>,
  embeddings: { kind: 'builtin' | 'upstream'; names?: string[] } = { kind: 'builtin' },
) => {
  const { kind, names = [] } = embeddings;
  const config = {
    plans: defaultPlans,
    embeddings: {
      ...{ url: 'http://127.0.0.1:9/v1', apiKey: undefined },
      models: names.map((id) => ({ id, upstream: id })),
    },
  };
  return { config, engines: { chat: { models }, embeddings: { kind } } } as unknown as Parameters<
    typeof ownModels
  >[0];
};

t.test('ownModels returns the default model of new accounts, or a placeholder', async (t) => {
  const listed = async () => [modelNamed('large', ['pro']), modelNamed('small')];
  t.same(await ownModels(serviceWith(listed)), {
    chat: { id: 'small', created: 1, owned_by: 'someone' },
    embeddings: 'parley-builtin-embeddings',
  });
  t.match(
    await ownModels(serviceWith(async () => [builtinModel], { kind: 'upstream', names: ['one', 'two'] })),
    { chat: { id: 'parley-builtin' }, embeddings: 'one' },
    'EMBEDDINGS_MODEL',
  );
  t.match(
    await ownModels(serviceWith(listed, { kind: 'upstream' })),
    { embeddings: 'MODEL' },
    'without EMBEDDINGS_MODEL',
  );
  const unavailable = serviceWith(async () => {
    throw new Error('There is no list.');
  });
  t.match(await ownModels(unavailable), { chat: { id: 'MODEL' } }, 'an upstream without a list');
  // Without this timer, the process would exit before the lookup of the list times out.
  const alive = setTimeout(() => {}, 60_000);
  const hanging = serviceWith(() => new Promise(() => {}));
  t.match(await ownModels(hanging), { chat: { id: 'MODEL' } }, 'an upstream that never responds');
  clearTimeout(alive);
});

t.test('withOwnModels replaces names in quotes and URLs, but only within code', async (t) => {
  const models = { chat: { id: `a'b"c`, created: 0, owned_by: 'x' }, embeddings: 'v' };
  const rename = (markdown: string) => withOwnModels(markdown, models);
  for (const text of [
    '`parley-builtin`',
    '## What parley-builtin is',
    "'parley-builtin-2'",
    '/parley-builtin',
  ])
    t.equal(rename(text), text);
  t.equal(rename("`f('parley-builtin')`"), "`f('a\\'b\"c')`");
  t.equal(rename('```js\nf("parley-builtin")\n```'), '```js\nf("a\'b\\"c")\n```');
  t.equal(rename(`\`\`\`bash\nf 'parley-builtin'\n\`\`\``), `\`\`\`bash\nf 'a'\\''b"c'\n\`\`\``);
  t.equal(
    rename('```bash\ncurl x/models/parley-builtin \\\n```\n\n`"parley-builtin-embeddings"`'),
    '```bash\ncurl x/models/a%27b%22c \\\n```\n\n`"v"`',
  );
});

t.test('keptForModels: a page is built once, and rebuilt after the models change', async (t) => {
  const keep = keptForModels<number>();
  const models = (id: string) => ({ chat: { id, created: 0, owned_by: 'x' }, embeddings: 'v' });
  let made = 0;
  const make = () => ++made;
  t.same(
    ['a', 'a', 'b', 'a'].map((id) => keep(models(id), 'page', make)),
    [1, 1, 2, 3],
  );
  t.equal(keep(models('a'), 'other', make), 4);
});
