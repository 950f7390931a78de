// @hey-api/openapi-ts generates functions by operationId. Prints one line of JSON for generators.long.test.ts.
import { client } from './generated/client.gen.js';
import { chat, createKey, getUsage } from './generated/sdk.gen.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

client.setConfig({ baseUrl, headers: { cookie } });
const created = await createKey({ body: { name: 'Generated', scopes: ['chat', 'usage'] } });
const key = created.data?.key;

client.setConfig({
  baseUrl,
  headers: { cookie: null },
  auth: ({ type }) => (type === 'http' ? key : undefined),
});
const answer = await chat({ body: { message: 'How do I create a key?' } });
const reply: string | undefined = answer.data?.reply;
const usage = await getUsage();
const used: number | undefined = usage.data?.used.chat;

const refused = await chat({ body: { message: 'One more' } });
const code: string | undefined = refused.error?.error.code;
const ceiling: number | undefined = refused.error?.error.limit?.ceiling;

console.log(JSON.stringify({ prefix: created.data?.key_prefix, key, reply, used, code, ceiling }));
