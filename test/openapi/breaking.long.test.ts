// Contract section 12: the gate must block each breaking change to the real document, and allow compatible changes.
import { readFileSync } from 'node:fs';
import t from 'tap';

const { breakingChanges } = await import(new URL('../../tools/contract/breaking.mjs', import.meta.url).href);

// biome-ignore lint/suspicious/noExplicitAny: any part of a document
type Any = any;
const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
/** Never modified: the gate gets copies. */
const document = JSON.parse(text);
const schemas = (one: Any) => one.components.schemas;
const operation = (one: Any, method: string, path: string) => one.paths[`/api/v1${path}`][method];
const without = (list: string[], name: string) => list.splice(list.indexOf(name), 1);

/** Every enum in a schema. */
const enumerationsIn = (schema: Any): string[][] =>
  typeof schema !== 'object' || schema === null
    ? []
    : Object.entries(schema).flatMap(([name, value]) =>
        name === 'enum' ? [value as string[]] : enumerationsIn(value),
      );

/** The error envelope, narrowed to one set of codes. */
const narrowed = ({ properties: { code } }: Any) => ({
  allOf: [
    { $ref: '#/components/schemas/ErrorBody' },
    { type: 'object', properties: { code }, required: ['code'] },
  ],
});

/** The gate's findings for changes to the whole document. */
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

/** The first path that a change affects, directly or through a component that it refers to. */
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
 * The gate's findings for a change, within the first path that it affects, or in the whole document if it affects none.
 * Comparing the whole document takes ten times as long.
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
  'an error code is renamed': (one) => {
    for (const schema of Object.values<Any>(schemas(one)))
      for (const list of enumerationsIn(schema))
        for (const [index, code] of list.entries())
          if (code === 'apiKeyLimitReached') list[index] = 'tooManyKeys';
  },
  'an error code is removed': (one) => {
    for (const schema of Object.values<Any>(schemas(one)))
      for (const list of enumerationsIn(schema))
        if (list.includes('quotaExceeded')) without(list, 'quotaExceeded');
  },
  'an operation is deprecated with less than six months of notice': (one) => {
    Object.assign(operation(one, 'get', '/plans'), { deprecated: true, 'x-sunset': '2026-11-01' });
  },
  'an operation is deprecated without a sunset date': (one) => {
    operation(one, 'get', '/plans').deprecated = true;
  },
  'the server URL changes': (one) => {
    one.servers = [{ url: '/v2' }];
  },
  'a request field is forbidden': (one) => {
    schemas(one).ChatRequest.properties.temperature = false;
  },
  'a response field can be anything': (one) => {
    schemas(one).ChatReply.properties.reply = true;
  },
  'an operation moves to another tag': (one) => {
    operation(one, 'get', '/plans').tags = ['Prices'];
  },
  'a path is removed': (one) => {
    delete one.paths['/api/v1/usage'];
  },
  'an operation is removed': (one) => {
    delete one.paths['/api/v1/account'].delete;
  },
  'a request field is removed': (one) => {
    delete schemas(one).ChatRequest.properties.temperature;
  },
  'a response field is removed': (one) => {
    delete schemas(one).ChatReply.properties.usage;
    without(schemas(one).ChatReply.required, 'usage');
  },
  'a response field becomes optional': (one) => without(schemas(one).ChatReply.required, 'usage'),
  'a request field no longer accepts a value': (one) =>
    schemas(one).ImageRequest.properties.size.anyOf[0].enum.splice(1, 1),
  'a scope is removed': (one) => schemas(one).Scope.enum.pop(),
  'a meter is removed': (one) => schemas(one).Meter.enum.pop(),
  'a response field gets a new value': (one) => schemas(one).FinishReason.enum.push('tired'),
  'the type of a request field changes': (one) => {
    schemas(one).ChatRequest.properties.message.type = 'integer';
  },
  'the type of a response field changes': (one) => {
    schemas(one).TokenUsage.properties.input_tokens.type = 'string';
  },
  'a response field becomes nullable': (one) => {
    schemas(one).ApiKey.properties.created_at.type = ['string', 'null'];
  },
  'a request field is no longer nullable': (one) => {
    schemas(one).CompletionRequest.properties.n.type = 'integer';
  },
  'a request field is no longer nullable, and its schema is rewritten without anyOf': (one) => {
    const { size } = schemas(one).ImageRequest.properties;
    Object.assign(size, size.anyOf[0]);
    delete size.anyOf;
  },
  'a required request field is added': (one) => {
    schemas(one).ChatRequest.properties.mood = { type: 'string' };
    schemas(one).ChatRequest.required.push('mood');
  },
  'a request field becomes required': (one) => schemas(one).ChatRequest.required.push('model'),
  'the maximum length of a string decreases': (one) => {
    schemas(one).ChatRequest.properties.message.maxLength = 50_000;
  },
  'the minimum length of a string increases': (one) => {
    schemas(one).ChatRequest.properties.message.minLength = 5;
  },
  'the maximum length of a list decreases': (one) => {
    schemas(one).CreateApiKey.properties.allowed_origins.maxItems = 5;
  },
  'the maximum of a number decreases': (one) => {
    schemas(one).ChatRequest.properties.max_output_tokens.maximum = 1000;
  },
  'the maximum page size of a list decreases': (one) => {
    one.components.parameters.LimitTo200.schema.maximum = 100;
  },
  'a request string gets a pattern': (one) => {
    schemas(one).ChatRequest.properties.message.pattern = '^[a-z]';
  },
  'a pattern changes, although it is marked as always enforced': (one) => {
    schemas(one).SignUp.properties.email.pattern = '^[a-z]';
  },
  'a request no longer accepts additional fields': (one) => {
    schemas(one).CompletionRequest.additionalProperties = false;
  },
  'a default changes': (one) => {
    schemas(one).ChatRequest.properties.store.default = false;
  },
  'the maximum length of a response list increases': (one) => {
    schemas(one).ConversationList.properties.data.maxItems = 1000;
  },
  'a success status is removed': (one) => {
    delete operation(one, 'post', '/keys').responses['201'];
  },
  'a success status is added': (one) => {
    const { responses } = operation(one, 'post', '/keys');
    responses['202'] = responses['201'];
  },
  'an error status is removed': (one) => {
    delete operation(one, 'post', '/keys').responses['429'];
  },
  'a response content type is removed': (one) => {
    delete operation(one, 'post', '/chat').responses['200'].content['text/event-stream'];
  },
  'a response header is removed': (one) => {
    delete operation(one, 'get', '/keys').responses['200'].headers['RateLimit-Limit'];
  },
  'a header of error responses is removed': (one) => {
    delete one.components.responses.CallerRateLimit.headers['Retry-After'];
  },
  'an event is renamed': (one) => {
    schemas(one).ChatStreamStart.properties.event.const = 'begin';
  },
  'an error code is removed, and its schema is rewritten with allOf': (one) => {
    const { KeyLimitError, KeyLimitErrorBody } = schemas(one);
    without(KeyLimitErrorBody.properties.code.enum, 'rateLimitExceeded');
    KeyLimitError.properties.error = narrowed(KeyLimitErrorBody);
  },
  'an event is added': (one) =>
    schemas(one).ChatStreamEvent.oneOf.push({ $ref: '#/components/schemas/CompletionStreamEvent' }),
  'a required parameter is added': (one) => {
    const parameter = { in: 'query', name: 'colour', required: true, schema: { type: 'string' } };
    operation(one, 'get', '/keys').parameters.push(parameter);
  },
  'a parameter is removed': (one) => operation(one, 'get', '/requests').parameters.pop(),
  'a parameter becomes required': (one) => {
    one.components.parameters.Cursor.required = true;
  },
  'an operation requires a different scope': (one) => {
    operation(one, 'get', '/usage').security[0].apiKey = ['chat'];
  },
  'a public operation requires a credential': (one) => {
    operation(one, 'get', '/plans').security = [{ session: [] }];
  },
  'an operation no longer accepts a credential': (one) => operation(one, 'get', '/usage').security.pop(),
  'the session cookie is renamed': (one) => {
    one.components.securitySchemes.session.name = 'sid';
  },
  'an operation ID changes': (one) => {
    operation(one, 'get', '/keys').operationId = 'getKeys';
  },
};

const allowed: Record<string, (one: Any) => void> = {
  'an operation is added at a new path': (one) => {
    one.paths['/api/v1/moods'] = {
      get: { operationId: 'listMoods', responses: { 200: { description: 'All.' } } },
    };
  },
  'a method is added to a path': (one) => {
    one.paths['/api/v1/usage'].post = {
      operationId: 'resetUsage',
      responses: { 204: { description: 'Done.' } },
    };
  },
  'an optional request field is added': (one) => {
    schemas(one).ChatRequest.properties.mood = { type: 'string' };
  },
  'a response field is added': (one) => {
    schemas(one).ChatReply.properties.mood = { type: 'string' };
    schemas(one).ChatReply.required.push('mood');
  },
  'an error code is added': (one) => {
    schemas(one).ErrorCode.enum.push('tooLate');
    schemas(one).RateLimitErrorBody.properties.code.enum.push('tooLate');
  },
  'an event type is added to the audit trail': (one) => schemas(one).AccountEventType.enum.push('keyRenamed'),
  'a scope is added, and keys can have it in addition to all others': (one) => {
    schemas(one).Scope.enum.push('audio');
    for (const name of ['ApiKey', 'CreatedApiKey', 'CreateApiKey'])
      schemas(one)[name].properties.scopes.maxItems += 1;
  },
  'a meter is added, with a limit, and with rows in the daily usage': (one) => {
    for (const name of ['Meter', 'UsageMeter']) schemas(one)[name].enum.push('audio');
    for (const name of ['Limits', 'UsedCounters']) {
      schemas(one)[name].properties.audio = { type: 'integer' };
      schemas(one)[name].required.push('audio');
    }
    schemas(one).UsageHistory.properties.data.maxItems = 450;
  },
  'an error status is added': (one) => {
    const { responses } = operation(one, 'get', '/plans');
    responses['429'] = { $ref: '#/components/responses/PublicRateLimit' };
  },
  'the maximum length of a string increases': (one) => {
    schemas(one).ChatRequest.properties.message.maxLength = 200_000;
  },
  'a pattern that was always enforced is documented': (one) => {
    const pattern = { pattern: '^[^@]', 'x-always-enforced': true };
    Object.assign(schemas(one).LogIn.properties.email, pattern);
  },
  'an anyOf with null is rewritten as an enum with null': (one) => {
    const { output_format: format } = schemas(one).ImageRequest.properties;
    Object.assign(format, { type: ['string', 'null'], enum: [...format.anyOf[0].enum, null] });
    delete format.anyOf;
  },
  'a request field accepts a new value': (one) =>
    schemas(one).ImageRequest.properties.size.anyOf[0].enum.push('2048x2048'),
  'an optional parameter is added': (one) => {
    const parameter = { in: 'query', name: 'colour', required: false, schema: { type: 'string' } };
    operation(one, 'get', '/keys').parameters.push(parameter);
  },
  'a response header is added': (one) => {
    const { headers } = operation(one, 'get', '/keys').responses['200'];
    headers.Age = { schema: { type: 'integer' } };
  },
  'an operation accepts an additional credential': (one) =>
    operation(one, 'get', '/keys').security.push({ apiKey: [] }),
  'descriptions and examples change': (one) => {
    schemas(one).ChatRequest.description = 'The message text.';
    schemas(one).ChatRequest.properties.message.examples = ['Hello'];
    operation(one, 'get', '/keys').summary = 'Keys';
  },
  'an operation is deprecated with enough notice': (one) => {
    Object.assign(operation(one, 'get', '/keys'), { deprecated: true, 'x-sunset': '2099-01-01' });
  },
  'an object is rewritten as an allOf that narrows another object': (one) => {
    const { KeyLimitError, KeyLimitErrorBody } = schemas(one);
    KeyLimitError.properties.error = narrowed(KeyLimitErrorBody);
    delete schemas(one).KeyLimitErrorBody;
  },
  'a component is renamed': (one) => {
    const renamed = JSON.parse(JSON.stringify(one).replaceAll('schemas/TokenUsage"', 'schemas/Tokens"'));
    Object.assign(one, renamed);
    schemas(one).Tokens = schemas(one).TokenUsage;
    delete schemas(one).TokenUsage;
  },
};

for (const [title, change] of Object.entries(breaking))
  t.test(`blocked: ${title}`, async (t) => t.not(judgedInPart(change).length, 0));

t.test(`allowed, all at once: ${Object.keys(allowed).join('; ')}`, async (t) =>
  t.same(judged(...Object.values(allowed)), []),
);

const usage = JSON.stringify({
  ...JSON.parse(text),
  paths: { '/api/v1/usage': document.paths['/api/v1/usage'] },
});
const whole = JSON.parse(usage);

t.test(
  'a sunset date is at least six months after the release that announces it, and never moves earlier',
  async (t) => {
    const until = (sunset: string) => {
      const one = JSON.parse(usage);
      Object.assign(one.paths['/api/v1/usage'].get, { deprecated: true, 'x-sunset': sunset });
      return one;
    };
    const now = new Date('2026-11-20T12:00:00Z');
    t.same(breakingChanges(whole, until('2027-04-20'), now), [], 'the release may be a month away');
    t.match(breakingChanges(whole, until('2027-04-19'), now), [/5 months/]);
    t.same(breakingChanges(whole, until('2027-05-20'), now, { isRelease: true }), []);
    t.match(breakingChanges(whole, until('2027-05-19'), now, { isRelease: true }), [/on 2027-05-20/]);
    t.same(breakingChanges(until('2027-06-01'), until('2027-07-01'), now), []);
    t.match(breakingChanges(until('2027-06-01'), until('2027-05-31'), now), [/announced for 2027-06-01/]);
  },
);

t.test('a deprecated operation can be removed after its sunset date, but not before', async (t) => {
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

t.test('every description can change, even next to another schema of the same shape', async (t) => {
  const released = readFileSync(new URL('../../tools/contract/released.json', import.meta.url), 'utf8');
  const now = JSON.parse(text, (key, value) =>
    key === 'description' && typeof value === 'string' ? [...value].reverse().join('') : value,
  );
  t.same(breakingChanges(JSON.parse(released), { ...now, servers: document.servers }), []);
});
