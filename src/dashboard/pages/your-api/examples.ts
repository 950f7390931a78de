import type { Scope } from './keys.ts';

type Call = { path: string; method: string; body?: Record<string, string> };

/** The most useful call for each scope. The first of these scopes that a key has determines its sample. */
const calls: Readonly<Record<Scope, Call>> = {
  chat: { path: '/chat', method: 'chat', body: { message: 'Write a haiku about the sea.' } },
  search: { path: '/search', method: 'search', body: { query: 'create a key' } },
  images: { path: '/images/generations', method: 'createImage', body: { prompt: 'A lighthouse at dawn' } },
  models: { path: '/models', method: 'listModels' },
  usage: { path: '/usage', method: 'getUsage' },
};

/** The built-in engine replies from the guides. A language model does not know them. */
const chatWithGuides: Call = { path: '/chat', method: 'chat', body: { message: 'How do I create a key?' } };

export const languages = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
  openaiPython: 'OpenAI Python',
  openaiNode: 'OpenAI Node',
  sdk: 'TypeScript SDK',
} as const;
export type Language = keyof typeof languages;
export const languageNames = Object.keys(languages) as Language[];

/** The guides for libraries. */
export const guides: Partial<Record<Language, string>> = {
  openaiPython: 'openai-compatible',
  openaiNode: 'openai-compatible',
  sdk: 'sdks',
};

/** Samples for OpenAI's libraries exist only for keys with the `chat` scope. */
export type Examples = Partial<Record<Language, string>>;

export const apiUrl = (): string => `${location.origin}/api/v1`;

/** Anthropic's clients add `/v1`. */
export const anthropicUrl = (): string => `${location.origin}/api`;

/**
 * @param key - the raw key, or null to read it from the environment variable `PARLEY_KEY`
 * @param hasModel - whether a language model generates the replies
 * @param model - the chat model, if known
 */
export function examples(
  key: string | null,
  scopes: readonly Scope[],
  { hasModel, model = 'MODEL' }: { hasModel: boolean; model: string | undefined },
): Examples {
  const scope = (Object.keys(calls) as Scope[]).find((one) => scopes.includes(one)) ?? 'usage';
  const found = calls[scope];
  const call = scope === 'chat' && !hasModel ? chatWithGuides : found;
  const message = scope === 'chat' ? call.body?.message : undefined;
  return {
    curl: curl(key, call),
    javascript: javascript(key, call),
    python: python(key, call),
    ...(message !== undefined && {
      openaiPython: openaiPython(key, model, message),
      openaiNode: openaiNode(key, model, message),
    }),
    sdk: sdk(key, call),
  };
}

function curl(key: string | null, { body, path }: Call): string {
  const lines = [`curl ${apiUrl()}${path}`, `-H "Authorization: Bearer ${key ?? '$PARLEY_KEY'}"`];
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`);
  return lines.join(' \\\n  ');
}

/** In `.js` files of a CommonJS project, `import` and `await` are syntax errors. */
const runWithNode = '// Save as parley.mjs and run: node parley.mjs';

function javascript(key: string | null, { body, path }: Call): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: part of the example.
  const credential = key === null ? '`Bearer ${process.env.PARLEY_KEY}`' : `'Bearer ${key}'`;
  const headers = [`    Authorization: ${credential},`];
  if (body !== undefined) headers.push("    'Content-Type': 'application/json',");
  return [
    runWithNode,
    `const response = await fetch('${apiUrl()}${path}', {`,
    ...(body === undefined ? [] : ["  method: 'POST',"]),
    '  headers: {',
    ...headers,
    '  },',
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body)}),`]),
    '});',
    'console.log(await response.json());',
  ].join('\n');
}

function python(key: string | null, { body, path }: Call): string {
  const credential = key === null ? `f"Bearer {os.environ['PARLEY_KEY']}"` : `"Bearer ${key}"`;
  return [
    '# pip install requests',
    ...(key === null ? ['import os'] : []),
    'import requests',
    '',
    `response = requests.${body === undefined ? 'get' : 'post'}(`,
    `    "${apiUrl()}${path}",`,
    `    headers={"Authorization": ${credential}},`,
    ...(body === undefined ? [] : [`    json=${JSON.stringify(body).replaceAll('":"', '": "')},`]),
    ')',
    'print(response.json())',
  ].join('\n');
}

function openaiPython(key: string | null, model: string, message: string): string {
  return [
    '# pip install openai',
    ...(key === null ? ['import os'] : []),
    'from openai import OpenAI',
    '',
    'client = OpenAI(',
    `    base_url="${apiUrl()}",`,
    `    api_key=${key === null ? 'os.environ["PARLEY_KEY"]' : `"${key}"`},`,
    ')',
    'completion = client.chat.completions.create(',
    `    model=${JSON.stringify(model)},`,
    `    messages=[{"role": "user", "content": "${message}"}],`,
    ')',
    'print(completion.choices[0].message.content)',
  ].join('\n');
}

function openaiNode(key: string | null, model: string, message: string): string {
  return [
    '// npm install openai',
    runWithNode,
    "import OpenAI from 'openai';",
    '',
    'const client = new OpenAI({',
    `  baseURL: '${apiUrl()}',`,
    `  apiKey: ${keyInNode(key)},`,
    '});',
    'const completion = await client.chat.completions.create({',
    `  model: ${JSON.stringify(model)},`,
    `  messages: [{ role: 'user', content: '${message}' }],`,
    '});',
    'console.log(completion.choices[0].message.content);',
  ].join('\n');
}

function sdk(key: string | null, { body, method }: Call): string {
  return [
    '// In a checkout of Parley: make sdk',
    '// In your project: npm install <checkout>/sdk',
    runWithNode,
    "import { createParley } from 'parley-sdk';",
    '',
    'const parley = createParley({',
    `  baseUrl: '${location.origin}',`,
    `  apiKey: ${keyInNode(key)},`,
    '});',
    `console.log(await parley.${method}(${body === undefined ? '' : literal(body)}));`,
  ].join('\n');
}

const keyInNode = (key: string | null) => (key === null ? 'process.env.PARLEY_KEY' : `'${key}'`);

const literal = (body: Record<string, string>) =>
  `{ ${Object.entries(body)
    .map(([name, value]) => `${name}: '${value}'`)
    .join(', ')} }`;
