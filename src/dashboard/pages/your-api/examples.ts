import type { Scope } from './keys.ts';

type Call = { path: string; body?: Record<string, unknown> };

/** The most useful call for each scope. The key's first scope in this order decides. */
const calls: [Scope, Call][] = [
  ['chat', { path: '/chat', body: { message: 'Write a haiku about the sea.' } }],
  ['search', { path: '/search', body: { query: 'create a key' } }],
  ['images', { path: '/images/generations', body: { prompt: 'A lighthouse at dawn' } }],
  ['models', { path: '/models' }],
  ['usage', { path: '/usage' }],
];

/** The built-in engine answers from the guides, of which a model knows nothing. */
const chatWithGuides: Call = { path: '/chat', body: { message: 'How do I create a key?' } };

/** @param hasModel - whether a language model answers chats */
export function examples(
  key: string,
  scopes: readonly Scope[],
  hasModel: boolean,
): { curl: string; javascript: string } {
  const [scope, found] = calls.find(([one]) => scopes.includes(one)) ?? ['usage', { path: '/usage' }];
  const call = scope === 'chat' && !hasModel ? chatWithGuides : found;
  const url = `${location.origin}/api/v1${call.path}`;
  return { curl: curl(url, key, call), javascript: javascript(url, key, call) };
}

function curl(url: string, key: string, { body }: Call): string {
  const lines = [`curl ${url}`, `-H "Authorization: Bearer ${key}"`];
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`);
  return lines.join(' \\\n  ');
}

function javascript(url: string, key: string, { body }: Call): string {
  const headers = [`    Authorization: 'Bearer ${key}',`];
  if (body !== undefined) headers.push("    'Content-Type': 'application/json',");
  return [
    `const response = await fetch('${url}', {`,
    ...(body === undefined ? [] : ["  method: 'POST',"]),
    '  headers: {',
    ...headers,
    '  },',
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body)}),`]),
    '});',
    'console.log(await response.json());',
  ].join('\n');
}

const literal = (body: Record<string, unknown>) =>
  `{ ${Object.entries(body)
    .map(([name, value]) => `${name}: '${value}'`)
    .join(', ')} }`;
