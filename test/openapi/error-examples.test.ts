// The error examples in openapi.json are accurate: each operation is made to fail, and sends the error in its example.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { type Body, type Json, type OpenApi, resolved } from '../support/response-checker.ts';
import { plansFile, startTestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';

type Media = Record<string, { schema: { $ref: string }; examples: Record<string, { $ref: string }> }>;
type BodySchema = { required?: string[]; properties: Record<string, object> };
type Parameter = { name: string; in: string; schema: { maximum?: number } };
type Operation = {
  operationId: string;
  parameters?: { $ref: string }[];
  requestBody?: { content: Media };
  responses: Record<string, { $ref: string }>;
};

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as OpenApi;
const json = 'application/json';
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => {
    const { operationId, parameters = [], requestBody, responses } = operation as unknown as Operation;
    const query = parameters
      .map((parameter) => resolved<Parameter>(document, parameter))
      .filter((parameter) => parameter.in === 'query');
    const media = requestBody?.content[json];
    const [example] = Object.values(media?.examples ?? {});
    return {
      operationId,
      method: method.toUpperCase(),
      url: path.startsWith('/api/v1') ? path.slice('/api/v1'.length) : `/${path}`,
      schema: media && resolved<Json & BodySchema>(document, media.schema),
      body: example && resolved<{ value: Body }>(document, example).value,
      responses,
      limited: query.find(({ schema }) => schema.maximum !== undefined),
    };
  }),
);
const targetOf = (url: string) =>
  url.replace('{id}', '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f').replace('{prefix}', 'parley_00000000');

/** Invalid queries for operations that ignore unknown query parameters and limit none. */
const wrongQueries: Readonly<Record<string, string>> = { getResponse: '?stream=true' };

function queryOf({ limited, operationId }: (typeof operations)[number]): string {
  if (limited) return `?${limited.name}=${(limited.schema.maximum ?? 0) + 1}`;
  return wrongQueries[operationId] ?? '?color=1';
}

/** The error in an example, without the members that differ in each response. */
function expected(responses: Operation['responses'], status: number, code: string): Body {
  const response = resolved<{ content: Media }>(document, responses[status] ?? { $ref: '' });
  const example = response.content[json]?.examples[code];
  return comparable(resolved<{ value: Body }>(document, example ?? { $ref: '' }).value);
}

const comparable = ({ error: { docs: _, request_id: __, ...error } }: Body): Body => error;

const service = await startTestService(t, 'postgres', { AUTH_ATTEMPTS_PER_MINUTE: '10000', ...operatorEnv });
const { client } = service;
const { cookie } = await signInOperator(service);

t.test(
  '400 invalidRequest: a number is too large, a required field is missing, or a field is unknown',
  async (t) => {
    t.ok(operations.filter(({ limited }) => limited).length >= 9);
    for (const operation of operations) {
      const { method, operationId, responses, schema, url } = operation;
      const target = targetOf(url);
      const isWithout = schema?.required !== undefined;
      const body = schema && (isWithout ? {} : { color: 1 });
      // Health checks ignore queries.
      if (url.startsWith('//')) continue;
      const answer = await client.request(method, target + (schema ? '' : queryOf(operation)), {
        cookie,
        ...(body && { body }),
      });
      t.equal(answer.status, 400, operationId);
      t.same(comparable(answer.body), expected(responses, 400, 'invalidRequest'), operationId);
    }
  },
);

t.test('404 notFound: an unknown ID, or an unknown model', async (t) => {
  const found = operations.filter(({ responses }) => responses[404]);
  t.ok(found.length >= 9);
  for (const { body, method, operationId, responses, schema, url } of found) {
    // Only an upstream has models that it does not know: test/routes/images.test.ts.
    if (operationId === 'createImage') continue;
    const query = operationId === 'listMessageImages' ? `?message_id=${crypto.randomUUID()}` : '';
    const target = targetOf(url) + query;
    const sent = body && (schema?.properties.model ? { ...body, model: 'none' } : body);
    const answer = await client.request(method, target, { cookie, ...(sent && { body: sent }) });
    t.equal(answer.status, 404, operationId);
    t.same(comparable(answer.body), expected(responses, 404, 'notFound'), operationId);
  }
});

t.test('403 crossSiteRequest: the message names the URL of the dashboard', async (t) => {
  const headers = { 'sec-fetch-site': 'cross-site' };
  for (const { body, method, operationId, responses, url } of operations) {
    const response = responses[403] && resolved<{ content: Media }>(document, responses[403]);
    if (response?.content[json]?.examples.crossSiteRequest === undefined) continue;
    const options = { cookie, headers, ...(body && { body }) };
    const answer = await client.request(method, targetOf(url), options);
    t.equal(answer.status, 403, operationId);
    const { message, ...rest } = expected(responses, 403, 'crossSiteRequest');
    const said = { ...rest, message: message.replace('http://localhost:3000', client.origin) };
    const { message: heard, ...others } = comparable(answer.body);
    t.same({ ...others, message: heard.replace(/http:\/\/[^ ]+:\d+/, client.origin) }, said, operationId);
  }
});

t.test('413 payloadTooLarge: the message names the limit', async (t) => {
  for (const { method, operationId, responses, schema, url } of operations) {
    if (schema === undefined) continue;
    const error = expected(responses, 413, 'payloadTooLarge');
    const [, amount, unit] = /(\d+) ([KM])iB/.exec(error.message) ?? [];
    const limit = Number(amount) * (unit === 'M' ? 1024 * 1024 : 1024);
    const send = (length: number) =>
      client.request(method, targetOf(url), { cookie, raw: `"${'a'.repeat(length - 2)}"` });
    const answer = await send(limit + 1);
    t.equal(answer.status, 413, operationId);
    t.same(comparable(answer.body), error, operationId);
    t.equal((await send(limit)).status, 400, `${operationId}: a body at the limit is parsed`);
  }
});

t.test('429 quotaExceeded: the daily token limit', async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const limited = await startTestService(t, 'postgres', {
    ...plansFile(t, { tokens: 20_000 }),
    CHAT_URL: upstream.url,
    EMBEDDINGS_URL: upstream.url,
    DEFAULT_MAX_OUTPUT_TOKENS: '10',
  });
  const owner = await limited.client.signUp();
  const ofTokens = operations.filter(({ responses }) => {
    const response = responses[429] && resolved<{ content: Media }>(document, responses[429]);
    return response?.content[json]?.examples.quotaExceededForTokens !== undefined;
  });
  t.same(ofTokens.map(({ operationId }) => operationId).sort(), [
    'chat',
    'createChatCompletion',
    'createEmbeddings',
    'createMessage',
    'createResponse',
  ]);
  await upstream.configure({
    completion: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'test-model' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 18_000, completion_tokens: 800, total_tokens: 18_800 },
    },
  });
  t.equal((await limited.client.post('/chat', { message: 'Hello' }, owner)).status, 200);
  for (const { method, operationId, responses, schema, url } of ofTokens) {
    const text = 'x'.repeat(4000);
    const fields: Record<string, unknown> = {
      message: text,
      input: text,
      messages: [{ role: 'user', content: text }],
      max_tokens: 10,
      model: 'test-model',
    };
    const body = Object.fromEntries(
      Object.entries(fields).filter(([name]) => schema && name in schema.properties),
    );
    const answer = await limited.client.request(method, url, { ...owner, body });
    t.equal(answer.status, 429, `${operationId} ${answer.text}`);
    // `needed` depends on the API, and the other values depend on the time of day.
    const stable = ({ limit: { needed: _, resetsAt: __, ...limit }, message, ...error }: Body) => ({
      ...{ ...error, limit },
      message: message.replace(/up to [\d,]+/, 'up to N').replace(/resets at \S+/, 'resets then.'),
    });
    const example = expected(responses, 429, 'quotaExceededForTokens');
    t.same(stable(comparable(answer.body)), stable(example), operationId);
    t.ok(answer.body.error.limit.needed > 4000);
  }
});
