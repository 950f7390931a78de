// The gate of contract section 12: changes to the real document, each of which it must stop or let pass.
import { readFileSync } from 'node:fs';
import t from 'tap';

const { breakingChanges } = await import(new URL('../../tools/contract/breaking.mjs', import.meta.url).href);

// biome-ignore lint/suspicious/noExplicitAny: whatever a document holds
type Any = any;
const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
/** Never changed: the gate gets copies. */
const document = JSON.parse(text);
const schemas = (one: Any) => one.components.schemas;
const operation = (one: Any, method: string, path: string) => one.paths[`/api/v1${path}`][method];
const without = (list: string[], name: string) => list.splice(list.indexOf(name), 1);

/** Every list of values in a schema. */
const enumerationsIn = (schema: Any): string[][] =>
  typeof schema !== 'object' || schema === null
    ? []
    : Object.entries(schema).flatMap(([name, value]) =>
        name === 'enum' ? [value as string[]] : enumerationsIn(value),
      );

/** The envelope of every error, with the codes of one set. */
const narrowed = ({ properties: { code } }: Any) => ({
  allOf: [
    { $ref: '#/components/schemas/ErrorBody' },
    { type: 'object', properties: { code }, required: ['code'] },
  ],
});

/** What the gate says of changes to the whole document. */
function judged(...changes: ((one: Any) => void)[]): string[] {
  const changed = JSON.parse(text);
  for (const change of changes) change(changed);
  return breakingChanges(JSON.parse(text), changed);
}

/** The names of the components that a value refers to, directly or through others. */
function reached(one: Any, value: Any, names = new Set<string>()): Set<string> {
  for (const [, kind = '', name = ''] of JSON.stringify(value ?? null).matchAll(
    /"#\/components\/(\w+)\/([^"]+)"/g,
  )) {
    if (names.has(`${kind}/${name}`)) continue;
    names.add(`${kind}/${name}`);
    reached(one, one.components[kind][name], names);
  }
  return names;
}

const textOf = (one: Any, name: string) => {
  const [kind = '', key = ''] = name.split('/');
  return JSON.stringify(one.components[kind]?.[key]);
};
const paths = Object.keys(document.paths).map((path) => ({
  path,
  text: JSON.stringify(document.paths[path]),
  names: [...reached(document, document.paths[path])],
}));
const components = new Map(
  [...new Set(paths.flatMap(({ names }) => names))].map((name) => [name, textOf(document, name)]),
);

/** The first path that a change touches, itself or in what it refers to. */
function touchedPath(changed: Any): string | undefined {
  const touched = new Set(
    [...components].filter(([name, was]) => textOf(changed, name) !== was).map(([name]) => name),
  );
  return paths.find(
    ({ names, path, text }) =>
      JSON.stringify(changed.paths[path]) !== text || names.some((name) => touched.has(name)),
  )?.path;
}

/**
 * What the gate says of a change in the first path that it touches, or in the whole document where it touches none: a
 * comparison of the whole takes ten times as long.
 */
function judgedInPart(change: (one: Any) => void): string[] {
  const [before, changed] = [JSON.parse(text), JSON.parse(text)];
  change(changed);
  const path = touchedPath(changed);
  if (path !== undefined)
    for (const one of [before, changed]) {
      const item = one.paths[path];
      one.paths = item === undefined ? {} : { [path]: item };
      const names = reached(one, item);
      for (const [kind, all] of Object.entries<Any>(one.components))
        if (kind !== 'securitySchemes')
          for (const name of Object.keys(all)) if (!names.has(`${kind}/${name}`)) delete all[name];
    }
  return breakingChanges(before, changed);
}

const breaking: Record<string, (one: Any) => void> = {
  'an error code has another name': (one) => {
    for (const schema of Object.values<Any>(schemas(one)))
      for (const list of enumerationsIn(schema))
        for (const [index, code] of list.entries())
          if (code === 'apiKeyLimitReached') list[index] = 'tooManyKeys';
  },
  'an error code is gone': (one) => {
    for (const schema of Object.values<Any>(schemas(one)))
      for (const list of enumerationsIn(schema))
        if (list.includes('quotaExceeded')) without(list, 'quotaExceeded');
  },
  'an operation ends without six months of notice': (one) => {
    Object.assign(operation(one, 'get', '/plans'), { deprecated: true, 'x-sunset': '2026-11-01' });
  },
  'an operation ends on no known day': (one) => {
    operation(one, 'get', '/plans').deprecated = true;
  },
  'the API is at another address': (one) => {
    one.servers = [{ url: '/v2' }];
  },
  'a field of a request is forbidden': (one) => {
    schemas(one).ChatRequest.properties.temperature = false;
  },
  'a field of a response may be anything': (one) => {
    schemas(one).ChatReply.properties.reply = true;
  },
  'an operation is in another group': (one) => {
    operation(one, 'get', '/plans').tags = ['Prices'];
  },
  'a path is gone': (one) => {
    delete one.paths['/api/v1/usage'];
  },
  'an operation is gone': (one) => {
    delete one.paths['/api/v1/account'].delete;
  },
  'a field of a request is not taken any more': (one) => {
    delete schemas(one).ChatRequest.properties.temperature;
  },
  'a field of a response is gone': (one) => {
    delete schemas(one).ChatReply.properties.usage;
    without(schemas(one).ChatReply.required, 'usage');
  },
  'a field of a response may be missing': (one) => without(schemas(one).ChatReply.required, 'usage'),
  'a value of a request is not taken any more': (one) =>
    schemas(one).ImageRequest.properties.size.anyOf[0].enum.splice(1, 1),
  'a scope is gone': (one) => schemas(one).Scope.enum.pop(),
  'a meter is gone': (one) => schemas(one).Meter.enum.pop(),
  'a value in a response is new': (one) => schemas(one).FinishReason.enum.push('tired'),
  'a type in a request has changed': (one) => {
    schemas(one).ChatRequest.properties.message.type = 'integer';
  },
  'a type in a response has changed': (one) => {
    schemas(one).TokenUsage.properties.input_tokens.type = 'string';
  },
  'a field of a response may be null': (one) => {
    schemas(one).ApiKey.properties.created_at.type = ['string', 'null'];
  },
  'a field of a request may not be null': (one) => {
    schemas(one).CompletionRequest.properties.n.type = 'integer';
  },
  'a field of a request may not be null, and is written in another way': (one) => {
    const { size } = schemas(one).ImageRequest.properties;
    Object.assign(size, size.anyOf[0]);
    delete size.anyOf;
  },
  'a new field of a request is required': (one) => {
    schemas(one).ChatRequest.properties.mood = { type: 'string' };
    schemas(one).ChatRequest.required.push('mood');
  },
  'a field of a request is required now': (one) => schemas(one).ChatRequest.required.push('model'),
  'a longest text is shorter': (one) => {
    schemas(one).ChatRequest.properties.message.maxLength = 50_000;
  },
  'a shortest text is longer': (one) => {
    schemas(one).ChatRequest.properties.message.minLength = 5;
  },
  'a longest list is shorter': (one) => {
    schemas(one).CreateApiKey.properties.allowed_origins.maxItems = 5;
  },
  'a greatest number is smaller': (one) => {
    schemas(one).ChatRequest.properties.max_output_tokens.maximum = 1000;
  },
  'a greatest limit of a list is smaller': (one) => {
    one.components.parameters.LimitTo200.schema.maximum = 100;
  },
  'a text has a pattern': (one) => {
    schemas(one).ChatRequest.properties.message.pattern = '^[a-z]';
  },
  'a pattern has changed, although it is marked as enforced before': (one) => {
    schemas(one).SignUp.properties.email.pattern = '^[a-z]';
  },
  'further fields are not taken any more': (one) => {
    schemas(one).CompletionRequest.additionalProperties = false;
  },
  'a default has changed': (one) => {
    schemas(one).ChatRequest.properties.store.default = false;
  },
  'an answer is longer than it could be': (one) => {
    schemas(one).ConversationList.properties.data.maxItems = 1000;
  },
  'a success is gone': (one) => {
    delete operation(one, 'post', '/keys').responses['201'];
  },
  'a success has another status': (one) => {
    const { responses } = operation(one, 'post', '/keys');
    responses['202'] = responses['201'];
  },
  'an error is gone': (one) => {
    delete operation(one, 'post', '/keys').responses['429'];
  },
  'a type of answer is gone': (one) => {
    delete operation(one, 'post', '/chat').responses['200'].content['text/event-stream'];
  },
  'a header is gone': (one) => {
    delete operation(one, 'get', '/keys').responses['200'].headers['RateLimit-Limit'];
  },
  'a header of errors is gone': (one) => {
    delete one.components.responses.CallerRateLimit.headers['Retry-After'];
  },
  'an event is called otherwise': (one) => {
    schemas(one).ChatStreamStart.properties.event.const = 'begin';
  },
  'an error code is gone, and its schema is written in another way': (one) => {
    const { KeyLimitError, KeyLimitErrorBody } = schemas(one);
    without(KeyLimitErrorBody.properties.code.enum, 'rateLimitExceeded');
    KeyLimitError.properties.error = narrowed(KeyLimitErrorBody);
  },
  'an event is new': (one) =>
    schemas(one).ChatStreamEvent.oneOf.push({ $ref: '#/components/schemas/CompletionStreamEvent' }),
  'a new parameter is required': (one) => {
    const parameter = { in: 'query', name: 'colour', required: true, schema: { type: 'string' } };
    operation(one, 'get', '/keys').parameters.push(parameter);
  },
  'a parameter is gone': (one) => operation(one, 'get', '/requests').parameters.pop(),
  'a parameter is required now': (one) => {
    one.components.parameters.Cursor.required = true;
  },
  'another scope is needed': (one) => {
    operation(one, 'get', '/usage').security[0].apiKey = ['chat'];
  },
  'what was public asks for a credential': (one) => {
    operation(one, 'get', '/plans').security = [{ session: [] }];
  },
  'a credential is not taken any more': (one) => operation(one, 'get', '/usage').security.pop(),
  'a credential is sent in another way': (one) => {
    one.components.securitySchemes.session.name = 'sid';
  },
  'an operation is called otherwise': (one) => {
    operation(one, 'get', '/keys').operationId = 'getKeys';
  },
};

const allowed: Record<string, (one: Any) => void> = {
  'an operation is new': (one) => {
    one.paths['/api/v1/moods'] = {
      get: { operationId: 'listMoods', responses: { 200: { description: 'All.' } } },
    };
  },
  'a method of a path is new': (one) => {
    one.paths['/api/v1/usage'].post = {
      operationId: 'resetUsage',
      responses: { 204: { description: 'Done.' } },
    };
  },
  'an optional field of a request is new': (one) => {
    schemas(one).ChatRequest.properties.mood = { type: 'string' };
  },
  'a field of a response is new': (one) => {
    schemas(one).ChatReply.properties.mood = { type: 'string' };
    schemas(one).ChatReply.required.push('mood');
  },
  'an error code is new': (one) => {
    schemas(one).ErrorCode.enum.push('tooLate');
    schemas(one).RateLimitErrorBody.properties.code.enum.push('tooLate');
  },
  'a type of event in the audit trail is new': (one) => schemas(one).AccountEventType.enum.push('keyRenamed'),
  'a scope is new, and keys can have it beside all others': (one) => {
    schemas(one).Scope.enum.push('audio');
    for (const name of ['ApiKey', 'CreatedApiKey', 'CreateApiKey'])
      schemas(one)[name].properties.scopes.maxItems += 1;
  },
  'a meter is new, with a limit, and rows in the usage of each day': (one) => {
    for (const name of ['Meter', 'UsageMeter']) schemas(one)[name].enum.push('audio');
    for (const name of ['Limits', 'UsedCounters']) {
      schemas(one)[name].properties.audio = { type: 'integer' };
      schemas(one)[name].required.push('audio');
    }
    schemas(one).UsageHistory.properties.data.maxItems = 450;
  },
  'a status of errors is new': (one) => {
    const { responses } = operation(one, 'get', '/plans');
    responses['429'] = { $ref: '#/components/responses/PublicRateLimit' };
  },
  'a longest text is longer': (one) => {
    schemas(one).ChatRequest.properties.message.maxLength = 200_000;
  },
  'a pattern that was enforced before is documented': (one) => {
    const pattern = { pattern: '^[^@]', 'x-always-enforced': true };
    Object.assign(schemas(one).LogIn.properties.email, pattern);
  },
  'an anyOf with null is written as a list of values with null': (one) => {
    const { output_format: format } = schemas(one).ImageRequest.properties;
    Object.assign(format, { type: ['string', 'null'], enum: [...format.anyOf[0].enum, null] });
    delete format.anyOf;
  },
  'a value of a request is new': (one) =>
    schemas(one).ImageRequest.properties.size.anyOf[0].enum.push('2048x2048'),
  'an optional parameter is new': (one) => {
    const parameter = { in: 'query', name: 'colour', required: false, schema: { type: 'string' } };
    operation(one, 'get', '/keys').parameters.push(parameter);
  },
  'a header is new': (one) => {
    const { headers } = operation(one, 'get', '/keys').responses['200'];
    headers.Age = { schema: { type: 'integer' } };
  },
  'a further credential is taken': (one) => operation(one, 'get', '/keys').security.push({ apiKey: [] }),
  'descriptions and examples are better': (one) => {
    schemas(one).ChatRequest.description = 'The message text.';
    schemas(one).ChatRequest.properties.message.examples = ['Hello'];
    operation(one, 'get', '/keys').summary = 'Keys';
  },
  'an operation is deprecated': (one) => {
    Object.assign(operation(one, 'get', '/keys'), { deprecated: true, 'x-sunset': '2099-01-01' });
  },
  'an object is written as an allOf that narrows another one': (one) => {
    const { KeyLimitError, KeyLimitErrorBody } = schemas(one);
    KeyLimitError.properties.error = narrowed(KeyLimitErrorBody);
    delete schemas(one).KeyLimitErrorBody;
  },
  'a component is called otherwise': (one) => {
    const renamed = JSON.parse(JSON.stringify(one).replaceAll('schemas/TokenUsage"', 'schemas/Tokens"'));
    Object.assign(one, renamed);
    schemas(one).Tokens = schemas(one).TokenUsage;
    delete schemas(one).TokenUsage;
  },
};

for (const [title, change] of Object.entries(breaking))
  t.test(`stopped: ${title}`, async (t) => t.not(judgedInPart(change).length, 0));

t.test(`let pass, all at once: ${Object.keys(allowed).join('; ')}`, async (t) =>
  t.same(judged(...Object.values(allowed)), []),
);

const usage = JSON.stringify({
  ...JSON.parse(text),
  paths: { '/api/v1/usage': document.paths['/api/v1/usage'] },
});
const whole = JSON.parse(usage);

t.test(
  'what is to go announces itself for six months when it is released, and its end comes no earlier',
  async (t) => {
    const until = (sunset: string) => {
      const one = JSON.parse(usage);
      Object.assign(one.paths['/api/v1/usage'].get, { deprecated: true, 'x-sunset': sunset });
      return one;
    };
    const now = new Date('2026-11-20T12:00:00Z');
    t.same(breakingChanges(whole, until('2027-04-20'), now), [], 'a month is left to release it');
    t.match(breakingChanges(whole, until('2027-04-19'), now), [/5 months/]);
    t.same(breakingChanges(whole, until('2027-05-20'), now, { isRelease: true }), []);
    t.match(breakingChanges(whole, until('2027-05-19'), now, { isRelease: true }), [/on 2027-05-20/]);
    t.same(breakingChanges(until('2027-06-01'), until('2027-07-01'), now), []);
    t.match(breakingChanges(until('2027-06-01'), until('2027-05-31'), now), [/announced for 2027-06-01/]);
  },
);

t.test('an operation that announced its end may go when it is over, and not before', async (t) => {
  const announced = JSON.parse(usage);
  Object.assign(announced.paths['/api/v1/usage'].get, {
    deprecated: true,
    'x-sunset': '2027-06-01T00:00:00Z',
  });
  const gone = JSON.parse(usage);
  delete gone.paths['/api/v1/usage'];
  t.match(breakingChanges(announced, gone, new Date('2027-05-31T00:00:00Z')), [
    /GET \/api\/v1\/usage.* removed/,
  ]);
  t.same(breakingChanges(announced, gone, new Date('2027-06-02T00:00:00Z')), []);
});

t.test('every text may change, also beside another schema of the same shape', async (t) => {
  const released = readFileSync(new URL('../../tools/contract/released.json', import.meta.url), 'utf8');
  const now = JSON.parse(text, (key, value) =>
    key === 'description' && typeof value === 'string' ? [...value].reverse().join('') : value,
  );
  t.same(breakingChanges(JSON.parse(released), { ...now, servers: document.servers }), []);
});
