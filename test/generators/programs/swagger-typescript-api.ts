// swagger-typescript-api generates a class with a method per operation. Prints one line of JSON for
// generators.long.test.ts.
import { Api, type HttpResponse, type StreamQuotaError } from './generated/api.js';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

const owner = new Api({ baseUrl, baseApiParams: { headers: { cookie } } });
const { data: created } = await owner.api.createKey({
  name: 'Generated',
  scopes: ['chat', 'usage'] as never,
});

const { api } = new Api({ baseUrl, baseApiParams: { headers: { Authorization: `Bearer ${created.key}` } } });
const { data: answer } = await api.chat({ message: 'How do I create a key?' });
const { data: usage } = await api.getUsage();
const used: number = usage.used.chat;

const { error } = await api
  .chat({ message: 'One more' })
  .catch((refused: HttpResponse<unknown, StreamQuotaError>) => refused);
const { code, limit } = (error as StreamQuotaError).error;

console.log(
  JSON.stringify({
    prefix: created.key_prefix,
    key: created.key,
    reply: answer.reply,
    used,
    code,
    ceiling: limit?.ceiling,
  }),
);
