// orval generates functions by operationId for fetch, with relative URLs. Prints one line of JSON for
// generators.long.test.ts.
import { chat, createKey, getUsage } from './generated/client.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

const { fetch } = globalThis;
globalThis.fetch = (path, init) => fetch(new URL(String(path), baseUrl), init);

const created = await createKey({ name: 'Generated', scopes: ['chat', 'usage'] }, { headers: { cookie } });
if (created.status !== 201) throw new Error(created.data.error.message);
const { key } = created.data;

const headers = { Authorization: `Bearer ${key}` };
const answer = await chat({ message: 'How do I create a key?' }, { headers });
const reply =
  answer.status === 200 && typeof answer.data === 'object' && 'reply' in answer.data ? answer.data.reply : '';
const usage = await getUsage({ headers });
const used = usage.status === 200 ? usage.data.used.chat : -1;

const refused = await chat({ message: 'One more' }, { headers });
if (refused.status !== 429) throw new Error(String(refused.status));
const code: string = refused.data.error.code;
const ceiling = refused.data.error.limit?.ceiling;

console.log(JSON.stringify({ prefix: created.data.key_prefix, key, reply, used, code, ceiling }));
