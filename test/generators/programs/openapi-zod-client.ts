// openapi-zod-client generates Zod schemas, which validate every request and response. Prints one line of JSON for
// generators.long.test.ts.
import { isErrorFromAlias } from '@zodios/core';
import { createApiClient, api as description } from './generated/api.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

const client = createApiClient(baseUrl);
const created = await client.createKey(
  { name: 'Generated', scopes: ['chat', 'usage'] },
  { headers: { cookie } },
);

const headers = { Authorization: `Bearer ${created.key}` };
const answer = await client.chat({ message: 'How do I create a key?' }, { headers });
const usage = await client.getUsage({ headers });
const used: number = usage.used.chat;

const refused = await client.chat({ message: 'One more' }, { headers }).catch((error: unknown) => error);
if (!isErrorFromAlias(description.api, 'chat', refused)) throw refused;
const { error } = refused.response.data;
const ceiling = error.limit?.ceiling;

console.log(
  JSON.stringify({
    prefix: created.key_prefix,
    key: created.key,
    reply: answer.reply,
    used,
    code: error.code,
    ceiling,
  }),
);
