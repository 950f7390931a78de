// The examples in openapi.json are accurate: every example request is sent unchanged except for its IDs, and the
// response has the same members as the example response.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { operatorEnv, signInOperator } from '../support/operator.ts';
import { type Body, type OpenApi, resolved } from '../support/response-checker.ts';
import { startTestService } from '../support/service.ts';

type Example = { value: Body };
type Content = Record<string, { examples: Record<string, { $ref: string }> }>;
type Operation = {
  operationId: string;
  tags: string[];
  security: object[];
  parameters?: ({ in: string; name: string; example: unknown } | { $ref: string })[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content } | { $ref: string }>;
};

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as OpenApi;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    operation: operation as unknown as Operation,
  })),
);

const examplesIn = (content: Content | undefined, type: string) =>
  Object.entries(content?.[type]?.examples ?? {}).map(
    ([name, example]) => [name, resolved<Example>(document, example).value] as const,
  );

/** The names of all members, including those of array entries. */
function members(value: Body, place = ''): string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((entry) => members(entry, `${place}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    `${place}.${name}`,
    ...members(inner, `${place}.${name}`),
  ]);
}

/** The comparable parts of both values. Where one side has null or an empty list, there is nothing to compare. */
function shared(one: Body, other: Body): [Body, Body] {
  if (Array.isArray(one) && Array.isArray(other)) {
    const [first, second] = [one[0], other[0]];
    if (first === undefined || second === undefined) return [[], []];
    const [left, right] = shared(first, second);
    return [[left], [right]];
  }
  const isObject = (value: Body) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(one) || !isObject(other)) return [0, 0];
  const pairs = Object.keys(one)
    .filter((name) => name in other)
    .map((name) => [name, shared(one[name], other[name])] as const);
  const missing = (from: Body, to: Body) => Object.entries(from).filter(([name]) => !(name in to));
  return [
    Object.fromEntries([...missing(one, other), ...pairs.map(([name, [left]]) => [name, left])]),
    Object.fromEntries([...missing(other, one), ...pairs.map(([name, [, right]]) => [name, right])]),
  ];
}

const service = await startTestService(t, 'embedded', operatorEnv);
const { client } = service;

/** An account with a webhook, a key, a conversation, and a request log, and the IDs that replace example IDs. */
async function prepare(operationId: string, isOperators = false) {
  const isNew = operationId === 'signUp';
  if (isNew) return { cookie: '', email: `${crypto.randomUUID()}@example.com`, ids: {} };
  const owner = await (isOperators ? signInOperator(service) : client.signUp());
  const { email } = owner;
  const other = await client.signUp();
  await client.put('/webhook', { url: 'https://hooks.example.com' }, { cookie: owner.cookie });
  const { key_prefix: prefix } = await client.createKey(other);
  const { id: key } = await client.createKey(owner);
  const rotated = await client.post(`/keys/${key}/rotate`, { grace_seconds: 3600 }, owner);
  const { key: raw } = rotated.body;
  const images = ['data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'];
  const chat = await client.post('/chat', { message: 'How do I create a key?', images }, { key: raw });
  const conversation = await client.get(`/conversations/${chat.body.conversation_id}`, { key: raw });
  const response = await client.post('/responses', { input: 'How do I create a key?' }, { key: raw });
  const sessions = await client.get('/sessions', { cookie: owner.cookie });
  return {
    cookie: owner.cookie,
    email,
    ids: {
      key,
      conversation: chat.body.conversation_id,
      message: conversation.body.messages[0].id,
      response: response.body.id,
      session: sessions.body.data[0].id,
      account: other.accountId,
      prefix,
    },
  };
}

type State = Awaited<ReturnType<typeof prepare>>;
/** For read-only operations. */
const [reader, operator] = [await prepare(''), await prepare('', true)];

/** Replaces the IDs and email addresses of an example with those of the account. */
function substituted(body: Body, { email, ids }: State): Body {
  if (body === undefined) return undefined;
  const changed = { ...body };
  if ('conversation_id' in changed) changed.conversation_id = ids.conversation;
  if (changed.email === 'ada@example.com') changed.email = email;
  else if ('email' in changed) changed.email = `new-${email}`;
  return changed;
}

const idOf = (path: string, ids: State['ids']): string => {
  if (path.includes('/accounts/')) return ids.account ?? '';
  if (path.includes('/keys/')) return ids.key ?? '';
  if (path.includes('/responses/')) return ids.response ?? '';
  if (path.includes('/sessions/')) return ids.session ?? '';
  return path.includes('/models/') ? 'parley-builtin' : (ids.conversation ?? '');
};

/** Query parameters that would filter out the entries that the example response shows. */
const filters = new Set([
  ...['id', 'key_id', 'endpoint', 'model', 'status', 'from', 'to', 'q'],
  ...['search', 'plan', 'suspended', 'request_id'],
]);

/** Left out of the query: each cursor continues only one list. */
const cursors = new Set(['cursor', 'after', 'after_id', 'before_id']);

function queryOf({ parameters = [] }: Operation, withFilters: boolean, ids: State['ids']): string {
  const pairs = parameters
    .map((one) => resolved<{ in: string; name: string; example: unknown }>(document, one))
    .filter(({ in: place, name }) => place === 'query' && !cursors.has(name))
    .filter(({ name }) => withFilters || !filters.has(name))
    .map(({ example, name }): [string, string] => [
      name,
      name === 'message_id' ? (ids.message ?? '') : String(example),
    ]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

/** These operations need an in-flight request: test/routes/chat-cancel.test.ts. */
const stops = new Set(['cancelChat', 'cancelChatByKey', 'cancelResponse']);

for (const { method, operation, path } of operations) {
  if (stops.has(operation.operationId)) continue;
  const requests = examplesIn(operation.requestBody?.content, 'application/json');
  const cases = requests.length > 0 ? requests : [['', undefined] as const];
  for (const [name, body] of cases) {
    t.test(`${operation.operationId} ${name}`, async (t) => {
      const isOperators = operation.tags.includes('Operator');
      const isReading = method === 'GET';
      const known = isOperators ? operator : reader;
      const state = isReading ? known : await prepare(operation.operationId, isOperators);
      const url = path
        .replace('{id}', idOf(path, state.ids))
        .replace('{prefix}', state.ids.prefix ?? '')
        .replace(/^\/api\/v1/, '')
        .replace(/^\/(healthz|readyz)/, '//$1');
      const options = { cookie: state.cookie, body: substituted(body, state) };
      const filtered = queryOf(operation, true, state.ids);
      if (filtered !== '') t.equal((await client.request(method, url + filtered, options)).status, 200);
      const answer = await client.request(method, url + queryOf(operation, false, state.ids), options);
      t.ok(answer.status >= 200 && answer.status < 300, `${answer.status} ${answer.text.slice(0, 300)}`);
      const response = operation.responses[answer.status] as { content?: Content };
      const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
      const examples = examplesIn(response.content, type);
      t.equal(examples.length > 0, answer.text !== '', 'every response body has an example');
      for (const [title, example] of examples) {
        const isEvent = type === 'text/event-stream';
        const candidates = isEvent
          ? answer.body.filter((one: Body) => one.event === example.event)
          : [answer.body];
        const differences = candidates.map((real: Body) => {
          const [left, right] = shared(example, real).map((value) => members(value).sort().join('\n'));
          return left === right ? '' : `${left}\n\nis not\n\n${right}`;
        });
        t.ok(
          differences.includes(''),
          `${title} has the members of a response: ${differences[0] ?? 'there is no such event'}`,
        );
      }
    });
  }
}
