// UPSTREAMS_FILE: one message lists every error.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import { ConfigError } from '../../src/environment.ts';
import { apis } from '../../src/upstreams-file/schema.ts';
import { planted, SECRET } from '../support/planted-mistakes.ts';

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

t.test('UPSTREAMS_FILE: every planted error is listed in one message', async (t) => {
  const message = mistakesOf(t, planted.content, planted.env);
  for (const sentence of planted.sentences) t.match(message, sentence);
  t.match(message, `UPSTREAMS_FILE has ${planted.sentences.length} errors:`);
  t.equal(message.match(/^ {2}- /gm)?.length, planted.sentences.length);
  t.notMatch(message, SECRET, 'the message contains no API key');
});

for (const [kind, { keyHeader, path, tasks }] of Object.entries(apis))
  t.test(`UPSTREAMS_FILE: fields and tasks that the kind ${kind} does not support are listed`, async (t) => {
    const wrong = { kind, url: `http://localhost:9/v1${path}/`, headers: { [keyHeader.toUpperCase()]: 'x' } };
    const others = (['chat', 'embeddings', 'images'] as const).filter((task) => !tasks.includes(task));
    const message = mistakesOf(t, {
      upstreams: [upstream, { name: 'b', ...wrong }, { ...upstream, name: 'c', kind }],
      models: [model, ...others.map((task) => ({ name: task, task, targets: [{ upstream: 'c' }] }))],
    });
    const wanted = [
      `Upstream "b": \`url\` must be the base URL, without ${path}.`,
      `Upstream "b": \`headers\` must not set ${keyHeader.toUpperCase()}.`,
      ...others.map(
        (task) => `Model "${task}": the upstream "c" is of kind ${kind}, which does not support ${task}.`,
      ),
    ];
    for (const sentence of wanted) t.match(message, sentence);
    t.match(message, `UPSTREAMS_FILE has ${wanted.length} errors:`);
  });

t.test('UPSTREAMS_FILE: errors in models for embeddings and images are listed', async (t) => {
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
    'Model "e3": the upstream "claude" is of kind anthropic, which does not support embeddings.',
    'Model "i1": `targets/0/prices/image` is required.',
    'Model "i1": `targets/0/prices/input` is not a known field.',
    'Model "i2": `contextTokens` is not a known field.',
    'Model "c1": `targets/0/prices/image` is not a known field.',
    'Model "c2": `task` must be one of chat, embeddings, images.',
  ];
  for (const sentence of wanted) t.match(message, sentence);
  t.match(message, `UPSTREAMS_FILE has ${wanted.length} errors:`);
  t.notMatch(message, SECRET, 'the message contains no API key');
});

t.test('UPSTREAMS_FILE: errors in AI SDK packages are listed', async (t) => {
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
      "cannot be used: it implements version v2 of the AI SDK's provider interface, not v3. Run:",
    ],
    [{ ...sdk, package: 'other' }, 'cannot be used: it exports no function that creates an AI SDK provider'],
    [{ ...sdk, package: 'old', fields: ['top_a'] }, '`fields` is not supported if `kind` is ai-sdk.'],
    [{ ...upstream, package: 'old' }, '`package` requires `kind` to be ai-sdk.'],
  ] as const;
  for (const [entry, sentence] of wanted) {
    const models = [{ name: 'm', targets: [{ upstream: entry.name }] }];
    writeFileSync(file, JSON.stringify({ upstreams: [entry], models }));
    t.throws(() => loadConfig({ UPSTREAMS_FILE: file }), ConfigError);
    try {
      loadConfig({ UPSTREAMS_FILE: file });
    } catch (error) {
      t.match((error as Error).message, `UPSTREAMS_FILE has an error:\n  - Upstream "${entry.name}": `);
      t.match((error as Error).message, sentence);
    }
  }
});

t.test(
  'UPSTREAMS_FILE: tasks that the file does not cover can be configured with other variables',
  async (t) => {
    const env = { EMBEDDINGS_URL: 'http://localhost:9/v1', IMAGES_URL: 'http://localhost:9/v1' };
    t.equal(mistakesOf(t, { upstreams: [upstream], models: [model] }, env), '');
    t.match(
      mistakesOf(t, {
        upstreams: [upstream],
        models: [model, { ...model, name: 'e', task: 'embeddings', plans: ['pro'] }],
      }),
      'No model for embeddings is available to the plans "free", "plus".',
    );
  },
);

t.test(
  'UPSTREAMS_FILE: invalid JSON, a missing file, an empty object, and plans without a model are errors',
  async (t) => {
    t.equal(mistakesOf(t, '{"upstreams": '), 'UPSTREAMS_FILE must contain JSON.');
    t.match(mistakesOf(t, {}), /`upstreams` is required.\n.*`models` is required./);
    t.throws(() => loadConfig({ UPSTREAMS_FILE: '/no/such/file.json' }), {
      message: 'UPSTREAMS_FILE must be a readable file: ENOENT.',
    });
    t.match(
      mistakesOf(t, { upstreams: [upstream], models: [{ ...model, plans: ['pro'] }] }),
      'No model is available to the plans "free", "plus".',
    );
    t.equal(mistakesOf(t, { upstreams: [upstream], models: [model] }), '', 'a correct file has no errors');
  },
);
