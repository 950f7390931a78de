// The document as generators and readers see it. Its examples are tested in test/openapi/examples.long.test.ts.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { modelTasks } from '../../schemas/models.ts';
import { documentedAsMetered } from '../support/metered.ts';
import { type Json, type OpenApi, resolved, schemaChecker } from '../support/response-checker.ts';
import { startTestService } from '../support/service.ts';

type Schema = Json & {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  description?: string;
  examples?: unknown[];
  additionalProperties?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
type Media = { schema: Schema; examples: Record<string, { $ref: string }> };
type Response = { description: string; headers?: object; content?: Record<string, Media> };
type Parameter = { name: string; in: string; description?: string; example?: unknown; schema: Schema };
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { description: string; content: Record<string, Media> };
  responses: Record<string, Response | { $ref: string }>;
  'x-required-scopes'?: string[];
};

const file = new URL('../../openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(file, 'utf8')) as OpenApi & {
  servers: unknown;
  tags: { name: string }[];
};
const schemas = document.components.schemas as Record<string, Schema>;
const problemWith = schemaChecker(document);
const operations = Object.values(document.paths).flatMap((item) =>
  Object.values(item),
) as unknown as Operation[];
const of = (schema: Schema): Schema => resolved<Schema>(document, schema as { $ref: string });
const isObject = ({ type }: Schema) => [type].flat().includes('object');

/** A schema and every schema nested in it, with its place, without following references. */
function* within(schema: Schema, place: string): Generator<[Schema, string]> {
  yield [schema, place];
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    yield* within(inner, `${place}.${name}`);
  if (schema.items) yield* within(schema.items, `${place}[]`);
  for (const inner of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => some ?? []))
    yield* within(inner, place);
}

const everySchema = Object.entries(schemas).flatMap(([name, schema]) => [...within(schema, name)]);

t.test('every object schema is a component, and every body refers to a component', async (t) => {
  const inline = everySchema.filter(([schema, place]) => isObject(schema) && schema !== schemas[place]);
  t.same(
    inline.map(([, place]) => place),
    [],
  );
  for (const { operationId, requestBody, responses } of operations) {
    const bodies = [requestBody, ...Object.values(responses).map((one) => resolved<Response>(document, one))];
    for (const body of bodies)
      for (const { schema } of Object.values(body?.content ?? {}))
        t.match(schema.$ref, '#/components/schemas/', operationId);
  }
});

t.test('no enum contains null, and nullable fields with an enum accept null', async (t) => {
  t.same(
    everySchema.filter(([schema]) => (schema.enum as unknown[] | undefined)?.includes(null)),
    [],
  );
  for (const name of ['size', 'response_format', 'output_format']) {
    const field = schemas.ImageRequest?.properties?.[name] ?? {};
    t.equal(problemWith(field, null), undefined, name);
    t.equal(problemWith(field, field.examples?.[0]), undefined, name);
    t.type(problemWith(field, 'other'), 'string', name);
  }
});

t.test('every schema except JsonValue has a type, an enum, or a reference', async (t) => {
  const keywords = ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'];
  const without = everySchema.filter(([schema]) => !keywords.some((keyword) => keyword in schema));
  // Generators compile an empty schema to a type for any value.
  t.same(without, [[{}, 'JsonValue']]);
});

t.test('additional properties have a named type, and can be any value', async (t) => {
  const open = everySchema.filter(([schema]) => isObject(schema) && schema.additionalProperties !== false);
  t.ok(open.length >= 12);
  const anything = open.filter(([schema]) => (schema.additionalProperties as Schema)?.type !== 'string');
  for (const [schema, place] of anything)
    t.same(schema.additionalProperties, { $ref: '#/components/schemas/JsonValue' }, place);
  for (const value of [null, true, 1, 'a', [1], { a: { b: null } }])
    t.equal(problemWith(schemas.CompletionStreamOptions ?? {}, { other: value }), undefined);
});

t.test('every component and field has a description, and every value has a valid example', async (t) => {
  for (const [name, schema] of Object.entries(schemas)) t.ok(schema.description, name);
  for (const [schema, place] of everySchema) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const target = of(field);
      t.ok(field.description ?? target.description, `${place}.${name} is described`);
      const parts = [target, ...(target.anyOf ?? []), ...(target.allOf ?? []), ...(target.oneOf ?? [])].map(
        of,
      );
      const isValue = !parts.some((part) => isObject(part) || part.items !== undefined);
      if (isValue) t.ok(field.examples ?? target.examples, `${place}.${name} has an example`);
    }
    for (const value of schema.examples ?? []) t.equal(problemWith(schema, value), undefined, place);
  }
});

t.test('every operation has a description, a tag, security requirements, and valid examples', async (t) => {
  const groups = document.tags.map(({ name }) => name);
  for (const operation of operations) {
    const { operationId, parameters = [], requestBody, responses } = operation;
    t.match(operationId, /^[a-z][A-Za-z]+$/);
    t.ok(operation.summary && operation.description.length > operation.summary.length, operationId);
    t.ok(operation.tags.length === 1 && groups.includes(operation.tags[0] ?? ''), operationId);
    const needed = operation.security.flatMap((requirement) => requirement.apiKey ?? []);
    t.same(needed, operation['x-required-scopes'] ?? [], operationId);
    for (const one of parameters) {
      const { description, example, name, schema } = resolved<Parameter>(document, one);
      t.ok(description, `${operationId} ${name}`);
      t.equal(problemWith(schema, example), undefined, `${operationId} ${name}`);
    }
    const bodies = [requestBody, ...Object.values(responses).map((one) => resolved<Response>(document, one))];
    for (const body of bodies) {
      if (body === undefined) continue;
      t.ok(body.description, operationId);
      for (const { examples, schema } of Object.values(body.content ?? {})) {
        const values = Object.values(examples).map(
          (one) => resolved<{ value: unknown }>(document, one).value,
        );
        t.ok(values.length > 0, operationId);
        for (const value of values) t.equal(problemWith(schema, value), undefined, operationId);
      }
    }
  }
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
});

t.test('each error body with its own codes is a plain object with the members of ErrorBody', async (t) => {
  const everyError = schemas.ErrorBody as Schema & { required: string[] };
  const bodies = Object.entries(schemas).filter(
    ([name]) => name.endsWith('ErrorBody') && name !== 'ErrorBody',
  );
  t.ok(bodies.length > 20);
  for (const [name, body] of bodies) {
    const { description: _, properties: { code: __, ...members } = {}, ...rest } = body;
    const { code: ___, ...expected } = everyError.properties ?? {};
    t.same(members, expected, name);
    t.same(rest, { type: 'object', required: everyError.required, additionalProperties: false }, name);
  }
});

const OF_TOKENS = 'quotaExceededForTokens';

t.test('each error status of an operation lists its codes, with an example for each', async (t) => {
  const known = new Set(schemas.ErrorCode?.enum as string[]);
  for (const { operationId, responses } of operations) {
    for (const [status, one] of Object.entries(responses)) {
      if (Number(status) < 400) continue;
      const media = resolved<Response>(document, one).content?.['application/json'];
      const error = of(of(media?.schema ?? {}).properties?.error ?? {});
      const codes = (error.properties?.code?.enum ?? []) as string[];
      const title = `${operationId} ${status}`;
      t.ok(codes.length > 0 && codes.every((code) => known.has(code)), title);
      // Requests to models also count against a token limit.
      const isOfTokens = codes.includes('quotaExceeded') && !['createImage', 'search'].includes(operationId);
      const further = isOfTokens ? [OF_TOKENS] : [];
      t.same(Object.keys(media?.examples ?? {}).sort(), [...codes, ...further].sort(), title);
      for (const [name, example] of Object.entries(media?.examples ?? {})) {
        const code = name === OF_TOKENS ? 'quotaExceeded' : name;
        const { value } = resolved<{ value: { error: { code: string; message: string } } }>(
          document,
          example,
        );
        t.equal(value.error.code, code, title);
        const scope = operations.find((other) => other.operationId === operationId)?.[
          'x-required-scopes'
        ]?.[0];
        if (code === 'insufficientScope') t.match(value.error.message, `\`${scope}\``, title);
      }
    }
  }
});

t.test('X-Parley-Attempts is documented only where several upstreams can be tried', async (t) => {
  const ofModels = [...documentedAsMetered()].filter(([, { meter }]) =>
    modelTasks.some((task) => task === meter),
  );
  const expected = ofModels.map(([endpoint]) => `${endpoint} 200,502,504`);
  const found = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as unknown as Record<string, Operation>).flatMap(([method, { responses }]) => {
      const having = Object.entries(responses).filter(
        ([, one]) => 'X-Parley-Attempts' in (resolved<Response>(document, one).headers ?? {}),
      );
      const statuses = having.map(([status]) => status);
      return having.length === 0 ? [] : [`${method.toUpperCase()} ${path} ${statuses}`];
    }),
  );
  t.ok(found.length > 0);
  t.same(found, expected);
});

t.test('GET /openapi.json serves the file with the public URL of the service', async (t) => {
  const publicUrl = 'https://chat.example.com';
  const { app, client } = await startTestService(t, 'postgres', { PUBLIC_URL: publicUrl });
  const { body, headers } = await client.get('//openapi.json');
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  t.same(body.servers, [{ url: publicUrl }]);
  const served = JSON.stringify({ ...body, servers: document.servers });
  t.equal(served, JSON.stringify(document), 'nothing else differs, including the order');
  // Another process wrote the file, with other settings.
  t.equal(
    JSON.stringify(app.swagger()),
    JSON.stringify(document),
    'the document is the same byte for byte in another process',
  );
});
