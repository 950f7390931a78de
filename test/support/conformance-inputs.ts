/** What a run of reliability test 47 asks: inputs of every operation, those that fit and those that do not. */
import fc, { type Arbitrary } from 'fast-check';
import { type Json, type OpenApi, resolved } from './response-checker.ts';
import { damaged, type Hints, valid } from './schema-arbitrary.ts';

export type Parameter = { in: string; name: string; required?: boolean; schema: Json };
type Operation = {
  operationId: string;
  security: object[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: { 'application/json': { schema: Json } } };
};
export type Call = { method: string; template: string; operation: Operation };
export type Credential = 'key' | 'session' | 'none' | 'invalid';
export type Input = {
  call: Call;
  credential: Credential;
  id: string | undefined;
  query: [string, string][];
  headers: Record<string, string>;
  body: unknown;
  raw: string | undefined;
};

export const password = 'correct horse battery';
/** Where an allowed page of every key of the run is. */
export const origin = 'https://app.example.com';

/** What leaves an account without what the next request needs: a new one takes over. They are asked less often. */
export const endings = new Set(['changePassword', 'deleteAccount', 'endSession', 'logOut', 'revokeKey']);
/** Stands for what the account of the moment has. */
export const own = {
  conversation: '<conversation>',
  cursor: '<cursor>',
  email: '<email>',
  key: '<key>',
  session: '<session>',
};

const some = <T>(...values: T[]): Arbitrary<unknown> => fc.constantFrom(...values);
const hints: Hints = {
  conversation_id: some(own.conversation),
  current_password: some(password),
  email: fc.oneof(
    fc.constant(own.email),
    fc.uuid().map((id) => `${id}@example.com`),
  ),
  model: some('parley-builtin'),
  password: some(password),
  plan: some('small', 'large'),
  allowed_origins: some(
    [],
    [origin],
    [origin, 'https://xn--bcher-kva.example:8443'],
    ['http://localhost:5173'],
  ),
  expires_at: some('2099-01-01T00:00:00.000Z', null),
  n: some(1, 2, null),
  size: some('256x256', null),
};

const idsOf: Record<string, string> = {
  conversations: own.conversation,
  keys: own.key,
  models: 'parley-builtin',
  sessions: own.session,
};

export const callsOf = (document: OpenApi): Call[] =>
  Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      template,
      operation: operation as unknown as Operation,
    })),
  );

const garbage = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 80 })
  .filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text));

const bodyOf = (document: OpenApi, { operation }: Call): Arbitrary<unknown> => {
  const schema = operation.requestBody?.content['application/json'].schema;
  return schema === undefined ? fc.constant(undefined) : valid(document, schema, hints);
};

const ownIdOf = ({ template }: Call) =>
  template.includes('{id}') ? idsOf[template.split('/{')[0]?.split('/').at(-1) ?? ''] : undefined;

/** Inputs of one operation that ask for nothing out of the ordinary: most of them succeed. */
export const plainInputsOf = (document: OpenApi, call: Call): Arbitrary<Input> =>
  bodyOf(document, call).map((body) => ({
    call,
    credential: 'session',
    id: ownIdOf(call),
    query: [],
    headers: {},
    body,
    raw: undefined,
  }));

/** The inputs of one operation. */
export function inputsOf(document: OpenApi, call: Call): Arbitrary<Input> {
  const { operation } = call;
  const all = (operation.parameters ?? []).map((one) => resolved<Parameter>(document, one));
  const ownId = ownIdOf(call);
  const id =
    ownId === undefined
      ? fc.constant(undefined)
      : fc.oneof({ weight: 6, arbitrary: fc.constant(ownId) }, fc.uuid({ version: 7 }), garbage);
  const values = (schema: Json) =>
    fc.oneof(
      { weight: 9, arbitrary: valid(document, schema).map(String) },
      { weight: 1, arbitrary: garbage },
    );
  const known = fc.record(
    Object.fromEntries(
      all
        .filter((one) => one.in === 'query')
        .map(({ name, schema }) => [
          name,
          name === 'cursor' ? fc.constant<string>(own.cursor) : values(schema),
        ]),
    ),
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
  return fc.record({
    call: fc.constant(call),
    credential,
    id,
    query: fc
      .tuple(known, further)
      .map(([one, more]) => [...(Object.entries(one) as [string, string][]), ...more]),
    headers: plain as Arbitrary<Record<string, string>>,
    body,
    raw: call.method === 'GET' ? fc.constant(undefined) : raw,
  });
}
