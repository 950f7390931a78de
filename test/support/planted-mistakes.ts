/** Content for `UPSTREAMS_FILE` with many kinds of mistakes, and the sentence that reports each. */

/** A secret in the content that no sentence may quote. */
export const SECRET = 'sk-secret-0123456789';

const upstream = { name: 'a', kind: 'openai', url: 'http://localhost:9/v1' };
const model = { name: 'm', targets: [{ upstream: 'a' }] };

/** `sentences` are the beginnings of the messages for `content` with the environment `env`. */
export const planted = {
  content: {
    upstreams: [
      upstream,
      { ...upstream, keyVariable: 'NO_SUCH_KEY' },
      { ...upstream, name: 'pasted', keyVariable: 'gsk_a1B2' },
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
  env: { CHAT_URL: 'http://localhost:9/v1', SPACED_KEY: `${SECRET} x` },
  sentences: [
    'CHAT_URL is set too.',
    'Two upstreams are named "a".',
    'Two models are named "m".',
    'Upstream "a": `keyVariable` names the environment variable NO_SUCH_KEY, which is not set.',
    'Upstream "pasted": `keyVariable` names an environment variable that is not set.',
    'Upstream "bad name": `name` must be 1 to 64 letters',
    'Upstream "kind": `kind` must be one of openai, openai-responses, anthropic, ai-sdk.',
    'Upstream "url": `url` must be an http or https URL',
    'Upstream "endpoint": `url` must be the base URL, without /chat/completions.',
    'Upstream "key": the key in SPACED_KEY must contain only visible ASCII characters',
    'Upstream "headers": `headers` must not set Authorization.',
    'Upstream "headers": the value of X-Fine in `headers` must be at most 4,000 characters of printable ASCII.',
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
  ],
};
