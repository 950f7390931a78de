/** Checks responses against the document: status, content type, body, and every header. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { eventsOf } from './event-reader.ts';

export type Json = Record<string, unknown>;
export type OpenApi = {
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> } & Record<string, Record<string, Json>>;
};

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the service says
export type Body = any;
export type Answer = { status: number; headers: Headers; text: string; body: Body };

type Reference = { $ref: string };
type Header = { required?: boolean; schema: Json & { type: string } };
export type Documented = {
  headers?: Record<string, Header | Reference>;
  content?: Record<string, { schema: Json }>;
};

const methods = ['get', 'put', 'post', 'delete', 'patch'];

/** Headers of HTTP, and security headers for browsers. `info.description` says that all responses have them. */
const everywhere = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'origin-agent-cluster',
  'permissions-policy',
  'referrer-policy',
  'strict-transport-security',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
]);

/** Resolves a `$ref` to a component of the document. Returns any other value unchanged. */
export function resolved<T>(document: OpenApi, value: T | Reference): T {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as T;
  const [, section = '', name = ''] =
    /^#\/components\/([^/]+)\/([^/]+)$/.exec((value as Reference).$ref) ?? [];
  const found = document.components[section]?.[name];
  assert.ok(found, `${(value as Reference).$ref} does not exist`);
  return found as T;
}

/** Finds the documented operation of a request. */
function operationFinder(document: OpenApi) {
  const operations = Object.entries(document.paths).flatMap(([template, item]) => {
    const path = new RegExp(
      `^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '(.+)')}$`,
    );
    const specificity = template.replace(/\{[^}]+\}/g, '').length;
    return methods
      .filter((method) => item[method])
      .map((method) => ({ method, path, specificity, operation: item[method] as Json }));
  });
  return (method: string, path: string) => {
    const found = operations.filter((candidate) => candidate.path.test(path));
    const closest = Math.max(...found.map(({ specificity }) => specificity));
    return found.find(
      (candidate) => candidate.method === method.toLowerCase() && candidate.specificity === closest,
    )?.operation;
  };
}

/**
 * Returns a function that checks a value against a schema. It returns the problem, or undefined if the value is valid.
 */
export function schemaChecker(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'openapi', components: { schemas: document.components.schemas } });
  const compile = (schema: Json) =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')));
  const compiled = new WeakMap<Json, ReturnType<typeof compile>>();
  return (schema: Json, value: unknown): string | undefined => {
    const validate = compiled.get(schema) ?? compile(schema);
    compiled.set(schema, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}

/**
 * Returns a function that asserts that a response matches the document. A response to an undocumented request must be a
 * 400, 404, or 405, unless its path is outside `/api/`.
 */
export function responseChecker(document: OpenApi) {
  const problemWith = schemaChecker(document);
  const find = operationFinder(document);

  const checkHeaders = (where: string, response: Documented, sent: Headers) => {
    const documented = new Map(
      Object.entries(response.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        resolved(document, header),
      ]),
    );
    for (const [name, value] of sent) {
      if (everywhere.has(name)) continue;
      const header = documented.get(name);
      assert.ok(header, `${where}: the header ${name} is not documented`);
      const problem = problemWith(header.schema, header.schema.type === 'integer' ? Number(value) : value);
      assert.equal(problem, undefined, `${where}: the header ${name}: ${value}`);
    }
    for (const [name, { required }] of documented)
      assert.ok(!required || sent.has(name), `${where}: the header ${name} is missing`);
  };

  return (method: string, path: string, answer: Answer) => {
    const where = `${method} ${path} ${answer.status}`;
    assert.ok(answer.headers.get('x-request-id'), `${where}: X-Request-Id`);
    const operation = find(method, path);
    if (operation === undefined) {
      if (path.startsWith('/api/'))
        assert.ok([400, 404, 405].includes(answer.status), `${where}: not documented`);
      return;
    }
    const responses = operation.responses as Record<string, Documented | Reference>;
    const entry = responses[answer.status];
    assert.ok(entry, `${where}: the status is not documented: ${answer.text.slice(0, 300)}`);
    const response = resolved(document, entry);
    checkHeaders(where, response, answer.headers);
    const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
    if (response.content === undefined)
      return assert.equal(answer.text, '', `${where}: a body that is not documented`);
    const media = response.content[type];
    assert.ok(media, `${where}: the type ${type} is not documented`);
    const whole = type === 'application/json' ? answer.body : answer.text;
    const values = type === 'text/event-stream' ? eventsOf(answer.text) : [whole];
    for (const value of values) {
      const problem = problemWith(media.schema, value);
      assert.equal(problem, undefined, `${where}: ${JSON.stringify(value).slice(0, 500)}`);
    }
    // A replayed error keeps the ID of the original request.
    if (answer.status >= 400 && answer.headers.get('idempotency-replayed') === null)
      assert.equal(
        answer.body.error.request_id ?? answer.body.request_id,
        answer.headers.get('x-request-id'),
        `${where}: request id`,
      );
  };
}
