// openapi-typescript's types with openapi-fetch. Prints one line of JSON for generators.long.test.ts.
import createClient from 'openapi-fetch';
import type { paths } from './generated/schema.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

const owner = createClient<paths, 'application/json'>({ baseUrl, headers: { cookie } });
const created = await owner.POST('/api/v1/keys', { body: { name: 'Generated', scopes: ['chat', 'usage'] } });
const key = created.data?.key;

const api = createClient<paths, 'application/json'>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const chat = await api.POST('/api/v1/chat', { body: { message: 'How do I create a key?' } });
const usage = await api.GET('/api/v1/usage');
const used: number | undefined = usage.data?.used.chat;

const refused = await api.POST('/api/v1/chat', { body: { message: 'One more' } });
const code: string | undefined = refused.error?.error.code;
const ceiling: number | undefined = refused.error?.error.limit?.ceiling;

console.log(
  JSON.stringify({ prefix: created.data?.key_prefix, key, reply: chat.data?.reply, used, code, ceiling }),
);
