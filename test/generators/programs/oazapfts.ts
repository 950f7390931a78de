// oazapfts generates functions by operationId, which return every status. Prints one line of JSON for
// generators.long.test.ts.
import { chat, createKey, defaults, getUsage } from './generated/api.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;

const created = await createKey({ name: 'Generated', scopes: ['chat', 'usage'] }, { headers: { cookie } });
if (created.status !== 201) throw new Error(created.data.error.message);
const { key, key_prefix: prefix } = created.data;

const options = { headers: { Authorization: `Bearer ${key}` } };
const answer = await chat({ message: 'How do I create a key?' }, {}, options);
const reply = answer.status === 200 ? answer.data.reply : '';
const usage = await getUsage(options);
const used = usage.status === 200 ? usage.data.used.chat : -1;

const refused = await chat({ message: 'One more' }, {}, options);
if (refused.status !== 429) throw new Error(String(refused.status));
const { code, limit } = refused.data.error;

console.log(JSON.stringify({ prefix, key, reply, used, code, ceiling: limit?.ceiling }));
