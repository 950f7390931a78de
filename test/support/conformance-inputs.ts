/** The inputs of reliability test 47: valid and invalid requests to every operation. */
import fc, { type Arbitrary } from 'fast-check';
import { encodedValues, forgedCursors } from './encodings.ts';
import { password } from './operator.ts';
import { type Json, type OpenApi, resolved } from './response-checker.ts';
import { damaged, type Hints, valid } from './schema-arbitrary.ts';

export type Parameter = { in: string; name: string; required?: boolean; schema: Json };
type Operation = {
  operationId: string;
  security: object[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: { 'application/json': { schema: Json } } };
};
export type Call = { method: string; template: string; operation: Operation };
export type Credential = 'key' | 'session' | 'none' | 'invalid';
export type Input = {
  call: Call;
  credential: Credential;
  id: string | undefined;
  /** Sent byte for byte as the path's parameter, in place of `id`. */
  rawId: string | undefined;
  query: [string, string][];
  /** Appended to the query byte for byte. */
  rawQuery: string | undefined;
  headers: Record<string, string>;
  body: unknown;
  raw: string | undefined;
};

/** The allowed origin of every key in the run. */
export const origin = 'https://app.example.com';

/**
 * Operations that remove what later requests of the account need, so a new account replaces it. They are called less
 * often.
 */
export const endings = new Set([
  ...['changePassword', 'deleteAccount', 'deleteWebhook', 'endSession', 'logOut', 'revokeKey'],
  ...['deleteAccountOfOwner', 'revokeKeyOfAccount'],
]);
/** Placeholders for values of the current account. */
export const own = {
  /** The ID of another account, for operators. */
  account: '<account>',
  conversation: '<conversation>',
  cursor: '<cursor>',
  /** A cursor from another list, possibly of another account. */
  foreignCursor: '<foreign cursor>',
  /** Followed by a position and the character to put there. */
  mutatedCursor: '<mutated cursor>',
  email: '<email>',
  key: '<key>',
  /** A message of that conversation. */
  message: '<message>',
  /** The prefix of a key of the other account. */
  prefix: '<prefix>',
  response: '<response>',
  responseItem: '<response item>',
  session: '<session>',
};

const some = <T>(...values: T[]): Arbitrary<unknown> => fc.constantFrom(...values);
const hints: Hints = {
  after: some(own.responseItem),
  conversation_id: some(own.conversation),
  current_password: some(password),
  email: fc.oneof(
    fc.constant(own.email),
    fc.uuid().map((id) => `${id}@example.com`),
  ),
  model: some('parley-builtin'),
  password: some(password),
  previous_response_id: some(own.response, null),
  plan: some('small', 'large'),
  allowed_origins: some(
    [],
    [origin],
    [origin, 'https://xn--bcher-kva.example:8443'],
    ['http://localhost:5173'],
  ),
  expires_at: some('2099-01-01T00:00:00.000Z', null),
  message_id: some(own.message),
  n: some(1, 2, null),
  size: some('256x256', null),
  url: some('https://hooks.example.com/parley', 'https://hooks.example.org'),
};

const idsOf: Record<string, string> = {
  accounts: own.account,
  chat: own.conversation,
  conversations: own.conversation,
  keys: own.key,
  models: 'parley-builtin',
  responses: own.response,
  sessions: own.session,
};

/** Every operation of the document, with its method and path template. */
export const callsOf = (document: OpenApi): Call[] =>
  Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      template,
      operation: operation as unknown as Operation,
    })),
  );

/** Any well-formed text, including NUL. */
const garbage = fc
  .oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('\u0000', 'a\u0000b', '%00', '%5c', '..\\', '../', '%', '\u202e'),
    },
  )
  .filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text));

const byte = fc.integer({ min: 0, max: 255 }).map((one) => `%${one.toString(16).padStart(2, '0')}`);
/** Invalid and unusual percent-encodings, including those that attackers use. */
const encodedText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...encodedValues) },
  { weight: 1, arbitrary: fc.array(byte, { minLength: 1, maxLength: 8 }).map((all) => all.join('')) },
  { weight: 1, arbitrary: garbage.map((text) => encodeURIComponent(encodeURIComponent(text))) },
);

const part = fc.oneof(
  fc.uuid(),
  fc
    .date({ noInvalidDate: false })
    .map((date) => (Number.isNaN(date.getTime()) ? 'NaN' : date.toISOString())),
  fc
    .tuple(
      fc.integer({ min: 0, max: 9999 }),
      fc.integer({ min: 0, max: 14 }),
      fc.integer({ min: 0, max: 32 }),
    )
    .map((all) => all.map((one, index) => String(one).padStart(index === 0 ? 4 : 2, '0')).join('-')),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
/** Cursors: valid ones from this list and others, forged ones, ones with one character changed, and random ones. */
const cursors = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(own.cursor, own.foreignCursor) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat({ max: 200 }), fc.constantFrom('A', 'z', '0', '_'))
      .map(([at, one]) => `${own.mutatedCursor}${at}${one}`),
  },
  { weight: 2, arbitrary: fc.constantFrom(...forgedCursors) },
  {
    weight: 2,
    arbitrary: fc
      .array(part, { minLength: 1, maxLength: 4 })
      .map((parts) => Buffer.from(parts.join('|')).toString('base64url')),
  },
  { weight: 1, arbitrary: garbage },
);

const bodyOf = (document: OpenApi, { operation }: Call): Arbitrary<unknown> => {
  const schema = operation.requestBody?.content['application/json'].schema;
  return schema === undefined ? fc.constant(undefined) : valid(document, schema, hints);
};

function ownIdOf({ template }: Call): string | undefined {
  if (template.includes('{prefix}')) return own.prefix;
  return template.includes('{id}') ? idsOf[template.split('/{')[0]?.split('/').at(-1) ?? ''] : undefined;
}

const parametersOf = (document: OpenApi, { operation }: Call): Parameter[] =>
  (operation.parameters ?? []).map((one) => resolved<Parameter>(document, one));

const fittingValue = (document: OpenApi, { name, schema }: Parameter): Arbitrary<string> =>
  (hints[name] ?? valid(document, schema)).map(String);

const valuesOf = (parameters: Parameter[], arbitrary: (parameter: Parameter) => Arbitrary<string>) =>
  Object.fromEntries(parameters.map((parameter) => [parameter.name, arbitrary(parameter)]));

/** Valid bodies. Half of them have no optional fields, because the service rejects some combinations of those. */
function plainBodyOf(document: OpenApi, call: Call): Arbitrary<unknown> {
  const schema = call.operation.requestBody?.content['application/json'].schema;
  const body = bodyOf(document, call);
  if (schema === undefined) return body;
  const { required = [] } = resolved<{ required?: string[] }>(document, schema);
  const needed = body.map((value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(([name]) => required.includes(name)))
      : value,
  );
  return fc.oneof(body, needed);
}

/** Ordinary inputs of one operation, of which most succeed. */
export function plainInputsOf(document: OpenApi, call: Call): Arbitrary<Input> {
  const required = parametersOf(document, call).filter((one) => one.in === 'query' && one.required);
  const query = fc.record(valuesOf(required, (one) => fittingValue(document, one)));
  return fc.tuple(plainBodyOf(document, call), query).map(([body, query]) => ({
    call,
    credential: 'session',
    id: ownIdOf(call),
    rawId: undefined,
    query: Object.entries(query),
    rawQuery: undefined,
    headers: {},
    body,
    raw: undefined,
  }));
}

/** Inputs of one operation, valid and invalid. */
export function inputsOf(document: OpenApi, call: Call): Arbitrary<Input> {
  const { operation } = call;
  const all = parametersOf(document, call);
  const ownId = ownIdOf(call);
  const id =
    ownId === undefined
      ? fc.constant(undefined)
      : fc.oneof({ weight: 6, arbitrary: fc.constant(ownId) }, fc.uuid({ version: 7 }), garbage);
  const values = (parameter: Parameter) =>
    fc.oneof({ weight: 9, arbitrary: fittingValue(document, parameter) }, { weight: 1, arbitrary: garbage });
  const inQuery = all.filter((one) => one.in === 'query');
  const known = fc.record(
    valuesOf(inQuery, (one) => (one.name === 'cursor' ? cursors : values(one))),
    { requiredKeys: [], noNullPrototype: true },
  );
  const further = fc.oneof(
    { weight: 9, arbitrary: fc.constant([] as [string, string][]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('limit', 'colour', 'api_key', '__proto__'), garbage)
        .map((one) => [one]),
    },
  );
  const takesRetries = all.some((one) => one.in === 'header');
  const headers = fc.record(
    {
      ...(takesRetries && {
        'idempotency-key': fc.oneof(fc.uuid(), fc.constantFrom('again', 'é', 'x'.repeat(256), 'with space')),
      }),
      origin: fc.oneof(
        { weight: 3, arbitrary: fc.constant(origin) },
        fc.constantFrom('https://evil.example', 'null'),
      ),
      'sec-fetch-site': fc.constantFrom('same-origin', 'cross-site'),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  const plain = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers });
  const fitting = bodyOf(document, call);
  const body =
    operation.requestBody === undefined
      ? fitting
      : fc.oneof({ weight: 3, arbitrary: fitting }, { weight: 2, arbitrary: damaged(fitting) });
  const raw = fc.oneof(
    { weight: 19, arbitrary: fc.constant(undefined) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '{',
        'null',
        '[]',
        '"x"',
        '{"a":1}x',
        `${'['.repeat(40)}${']'.repeat(40)}`,
      ),
    },
  );
  const takesKeys = operation.security.some((one) => 'apiKey' in one);
  const credential = fc.oneof(
    { weight: takesKeys ? 4 : 8, arbitrary: fc.constant<Credential>('session') },
    { weight: takesKeys ? 5 : 1, arbitrary: fc.constant<Credential>('key') },
    { weight: 1, arbitrary: fc.constantFrom<Credential>('none', 'invalid') },
  );
  // Every client normalizes `/keys/./rotate` to `/keys/rotate`, a different path with other methods.
  const segment = encodedText.filter(
    (text) => /\{(id|prefix)\}$/.test(call.template) || !/^(\.|%2e)$/i.test(text),
  );
  return fc.record({
    call: fc.constant(call),
    credential,
    id,
    rawId:
      ownId === undefined
        ? fc.constant(undefined)
        : fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: segment }),
    rawQuery: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom(
              'x',
              '%00',
              '%c0%80',
              ...all.filter((one) => one.in === 'query').map((one) => one.name),
            ),
            encodedText,
          )
          .map(([name, value]) => `${name}=${value}`),
      },
    ),
    query: fc
      .tuple(known, further)
      .map(([one, more]) => [...(Object.entries(one) as [string, string][]), ...more]),
    headers: plain as Arbitrary<Record<string, string>>,
    body,
    raw: call.method === 'GET' ? fc.constant(undefined) : raw,
  });
}
