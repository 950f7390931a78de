// openapi-generator-plus generates a class per tag, which throws error responses. Prints one line of JSON for
// generators.long.test.ts.
import { Api, ChatApi, KeysApi, UsageApi } from './generated/index';

async function main([baseUrl = '', cookie = '']: string[]) {
  const keys = new KeysApi(undefined, baseUrl);
  const request = { name: 'Generated', scopes: [Api.Scope.Chat, Api.Scope.Usage] };
  const { key, key_prefix: prefix } = await keys.createKey(request, { headers: { cookie } });

  const options = { headers: { Authorization: `Bearer ${key}` } };
  const chat = new ChatApi(undefined, baseUrl);
  const { reply } = await chat.chat(undefined, { message: 'How do I create a key?' }, options);
  const usage = await new UsageApi(undefined, baseUrl).getUsage(options);
  const used: number = usage.used.chat;

  const refused = await chat
    .chat(undefined, { message: 'One more' }, options)
    .catch((response: Response) => response.json() as Promise<Api.StreamQuotaError>);
  if (!('error' in refused)) throw new Error('The request was not rejected.');
  const { code, limit } = refused.error;
  return { prefix, key, reply, used, code, ceiling: limit?.ceiling };
}

main(process.argv.slice(2)).then((said) => console.log(JSON.stringify(said)));
