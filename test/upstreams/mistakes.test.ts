// The operator's file of upstreams: every mistake is named at once, in a sentence.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import { ConfigError } from '../../src/environment.ts';

const SECRET = 'sk-secret-0123456789';

function mistakesOf(t: Test, content: unknown, env: Record<string, string> = {}): string {
  const file = join(t.testdir(), 'upstreams.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  try {
    loadConfig({ ...env, UPSTREAMS_FILE: file });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

const upstream = { name: 'a', kind: 'openai', url: 'http://localhost:9/v1' };
const model = { name: 'm', targets: [{ upstream: 'a' }] };

t.test('UPSTREAMS_FILE: twenty planted mistakes, twenty sentences', async (t) => {
  const message = mistakesOf(
    t,
    {
      upstreams: [
        upstream,
        { ...upstream, keyVariable: 'NO_SUCH_KEY' },
        { ...upstream, name: 'bad name' },
        { ...upstream, name: 'kind', kind: 'gemini' },
        { ...upstream, name: 'url', url: `ftp://${SECRET}@host/v1` },
        { ...upstream, name: 'endpoint', url: 'http://localhost:9/v1/chat/completions' },
        { ...upstream, name: 'key', keyVariable: 'SPACED_KEY' },
        { ...upstream, name: 'headers', headers: { Authorization: SECRET, 'X-Fine': 'line\nbreak' } },
        { ...upstream, name: 'fields', fields: ['provider'] },
        { ...upstream, name: 'concurrency', concurrency: 0, timeouts: { firstByteMs: '5' } },
      ],
      models: [
        model,
        { ...model, description: 'The same name.' },
        { name: 'none', targets: [] },
        { name: 'lost', targets: [{ upstream: 'nowhere' }] },
        { name: 'twice', targets: [{ upstream: 'a' }, { upstream: 'a', weight: 2 }] },
        { name: 'weight', targets: [{ upstream: 'a', weight: 0 }] },
        { name: 'units', targets: [{ upstream: 'a' }], units: 1.5 },
        { name: 'plans', targets: [{ upstream: 'a' }], plans: ['gold'] },
        { name: 'tokens', targets: [{ upstream: 'a' }], contextTokens: 10, maxOutputTokens: 11 },
        { name: 'price', targets: [{ upstream: 'a', prices: { input: -1 } }] },
        { name: 'sight', targets: [{ upstream: 'a' }], capabilities: ['sight'], price: 1 },
      ],
    },
    { CHAT_URL: 'http://localhost:9/v1', SPACED_KEY: `${SECRET} x` },
  );
  const wanted = [
    'CHAT_URL is set too.',
    'Two upstreams are named "a".',
    'Two models are named "m".',
    'Upstream "a": the environment variable NO_SUCH_KEY that `keyVariable` names is not set.',
    'Upstream "bad name": `name` must be 1 to 64 letters',
    'Upstream "kind": `kind` must be one of openai, openai-responses, anthropic, ai-sdk.',
    'Upstream "url": `url` must be an http or https URL',
    'Upstream "endpoint": `url` must be the base URL, without /chat/completions.',
    'Upstream "key": the key in SPACED_KEY must contain only visible ASCII characters',
    'Upstream "headers": `headers` must not set Authorization.',
    'Upstream "headers": the value of X-Fine in `headers` must be visible ASCII text.',
    'Upstream "fields": `fields` must not list provider',
    'Upstream "concurrency": `concurrency` must be at least 1.',
    'Upstream "concurrency": `timeouts/firstByteMs` must be a whole number.',
    'Model "none": `targets` must have at least 1 entry.',
    'Model "lost": no upstream is named "nowhere".',
    'Model "twice": the target a/twice is listed twice.',
    'Model "weight": `targets/0/weight` must be at least 1.',
    'Model "units": `units` must be a whole number.',
    'Model "plans": no plan has the ID "gold".',
    'Model "tokens": `maxOutputTokens` must be at most `contextTokens`.',
    'Model "price": `targets/0/prices/output` is required.',
    'Model "price": `targets/0/prices/input` must be at least 0.',
    'Model "sight": `capabilities/0` must be one of tools, images, json_schema, reasoning.',
    'Model "sight": `price` is not a known field.',
  ];
  for (const sentence of wanted) t.match(message, sentence);
  t.match(message, `UPSTREAMS_FILE has ${wanted.length} mistakes:`);
  t.notMatch(message, SECRET, 'no key is repeated');
});

t.test('UPSTREAMS_FILE: mistakes in models for embeddings and images', async (t) => {
  const message = mistakesOf(
    t,
    {
      upstreams: [upstream, { ...upstream, name: 'claude', kind: 'anthropic' }],
      models: [
        model,
        { ...model, name: 'e1', task: 'embeddings', capabilities: ['tools'] },
        { name: 'e2', task: 'embeddings', targets: [{ upstream: 'a', prices: { input: 1, output: 2 } }] },
        { name: 'e3', task: 'embeddings', targets: [{ upstream: 'claude' }] },
        { name: 'i1', task: 'images', targets: [{ upstream: 'a', prices: { input: 1 } }] },
        { name: 'i2', task: 'images', targets: [{ upstream: 'a' }], contextTokens: 1 },
        { name: 'c1', targets: [{ upstream: 'a', prices: { image: 1, input: 1, output: 1 } }] },
        { ...model, name: 'c2', task: 'speech' },
      ],
    },
    {
      ...{ EMBEDDINGS_URL: 'http://localhost:9/v1', EMBEDDINGS_MODEL: 'x' },
      ...{ IMAGES_URL: 'http://localhost:9/v1', IMAGES_API_KEY: SECRET },
    },
  );
  const wanted = [
    'EMBEDDINGS_URL is set too. Remove it: the file says which upstreams create embeddings.',
    'EMBEDDINGS_MODEL is set too.',
    'IMAGES_URL is set too. Remove it: the file says which upstreams generate images.',
    'IMAGES_API_KEY is set too.',
    'Model "e1": `capabilities` is not a known field.',
    'Model "e2": `targets/0/prices/output` is not a known field.',
    'Model "e3": the upstream "claude" is of kind anthropic, which has no embeddings.',
    'Model "i1": `targets/0/prices/image` is required.',
    'Model "i1": `targets/0/prices/input` is not a known field.',
    'Model "i2": `contextTokens` is not a known field.',
    'Model "c1": `targets/0/prices/image` is not a known field.',
    'Model "c2": `task` must be one of chat, embeddings, images.',
  ];
  for (const sentence of wanted) t.match(message, sentence);
  t.match(message, `UPSTREAMS_FILE has ${wanted.length} mistakes:`);
  t.notMatch(message, SECRET, 'no key is repeated');
});

t.test('UPSTREAMS_FILE: packages of the AI SDK', async (t) => {
  const folder = t.testdir({
    'upstreams.json': '',
    node_modules: {
      old: {
        'index.js': 'exports.createOld = () => ({ languageModel: () => ({ specificationVersion: "v2" }) })',
      },
      other: { 'index.js': 'exports.other = 1' },
    },
  });
  const file = join(folder, 'upstreams.json');
  const sdk = { name: 'sdk', kind: 'ai-sdk', url: 'http://localhost:9/v1' };
  const wanted = [
    [{ ...sdk }, '`package` must name a provider package of the AI SDK, such as @ai-sdk/google.'],
    [
      { ...sdk, package: '@ai-sdk/none' },
      `the package @ai-sdk/none is not installed. Run: npm install --prefix ${folder} @ai-sdk/none@3`,
    ],
    [{ ...sdk, package: '@ai-sdk/amazon-bedrock' }, `${folder} @ai-sdk/amazon-bedrock@4`],
    [{ ...sdk, package: '../package' }, '`package` must be the name of an npm package.'],
    [
      { ...sdk, package: 'old' },
      "cannot be used: it speaks version v2 of the AI SDK's interface, not v3. Run:",
    ],
    [{ ...sdk, package: 'other' }, 'cannot be used: it exports no function that creates a provider'],
    [{ ...sdk, package: 'old', fields: ['top_a'] }, '`fields` is not for the kind ai-sdk.'],
    [{ ...upstream, package: 'old' }, '`package` is only for the kind ai-sdk.'],
  ] as const;
  for (const [entry, sentence] of wanted) {
    const models = [{ name: 'm', targets: [{ upstream: entry.name }] }];
    writeFileSync(file, JSON.stringify({ upstreams: [entry], models }));
    t.throws(() => loadConfig({ UPSTREAMS_FILE: file }), ConfigError);
    try {
      loadConfig({ UPSTREAMS_FILE: file });
    } catch (error) {
      t.match((error as Error).message, `UPSTREAMS_FILE has a mistake:\n  - Upstream "${entry.name}": `);
      t.match((error as Error).message, sentence);
    }
  }
});

t.test('UPSTREAMS_FILE: what it does not name, other variables configure', async (t) => {
  const env = { EMBEDDINGS_URL: 'http://localhost:9/v1', IMAGES_URL: 'http://localhost:9/v1' };
  t.equal(mistakesOf(t, { upstreams: [upstream], models: [model] }, env), '');
  t.match(
    mistakesOf(t, {
      upstreams: [upstream],
      models: [model, { ...model, name: 'e', task: 'embeddings', plans: ['pro'] }],
    }),
    'No model for embeddings is available to the plans "free", "plus".',
  );
});

t.test('UPSTREAMS_FILE: no JSON, no file, no plan served, an empty file', async (t) => {
  t.equal(mistakesOf(t, '{"upstreams": '), 'UPSTREAMS_FILE must contain JSON.');
  t.match(mistakesOf(t, {}), /`upstreams` is required.\n.*`models` is required./);
  t.throws(() => loadConfig({ UPSTREAMS_FILE: '/no/such/file.json' }), {
    message: 'UPSTREAMS_FILE must be a readable file: ENOENT.',
  });
  t.match(
    mistakesOf(t, { upstreams: [upstream], models: [{ ...model, plans: ['pro'] }] }),
    'No model is available to the plans "free", "plus".',
  );
  t.equal(mistakesOf(t, { upstreams: [upstream], models: [model] }), '', 'a correct file');
});
