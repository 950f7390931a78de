// kubb generates a function per operation. Its client does not throw, so an error is in the data. Prints one line of JSON
// for generators.long.test.ts.
import { setConfig } from '@kubb/plugin-client/clients/fetch';
import { chat, createKey, getUsage, type StreamQuotaError } from './generated/index.js';

const [baseURL = '', cookie = ''] = process.argv.slice(2);

// The client does not set Content-Type.
const type = { 'content-type': 'application/json' };

setConfig({ baseURL, headers: { ...type, cookie } });
const { key, key_prefix: prefix } = await createKey({ name: 'Generated', scopes: ['chat', 'usage'] });

setConfig({ baseURL, headers: { ...type, Authorization: `Bearer ${key}` } });
const { reply } = await chat({ message: 'How do I create a key?' });
const usage = await getUsage();
const used: number = usage.used.chat;

const refused: unknown = await chat({ message: 'One more' });
const { code, limit } = (refused as StreamQuotaError).error;

console.log(JSON.stringify({ prefix, key, reply, used, code, ceiling: limit?.ceiling }));
