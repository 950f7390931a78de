/** A client that knows the contract: every answer of JSON or of events must be documented and fit its schema. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { eventsOf } from './event-reader.ts';

type Json = Record<string, unknown>;
export type OpenApi = {
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> };
};

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the service says
export type Body = any;
export type Answer = { status: number; headers: Headers; text: string; body: Body };

export type RequestOptions = {
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  key?: string;
  cookie?: string;
};

const methods = ['get', 'put', 'post', 'delete', 'patch'];

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
  return (method: string, path: string) =>
    operations
      .filter((candidate) => candidate.method === method.toLowerCase() && candidate.path.test(path))
      .sort((one, other) => other.specificity - one.specificity)[0]?.operation;
}

/** Checks answers against the document. Answers to undocumented requests must be 404, 405 or not of the API. */
export function responseChecker(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'openapi', components: document.components });
  const find = operationFinder(document);
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>();

  const validatorFor = (schema: Json) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, known);
    return known;
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
    const responses = operation.responses as Record<string, { content?: Record<string, { schema: Json }> }>;
    const response = responses[answer.status];
    assert.ok(response, `${where}: the status is not documented: ${answer.text.slice(0, 300)}`);
    const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
    if (response.content === undefined)
      return assert.equal(answer.text, '', `${where}: a body that is not documented`);
    const media = response.content[type];
    assert.ok(media, `${where}: the type ${type} is not documented`);
    if (type === 'text/event-stream') {
      const validate = validatorFor(media.schema);
      for (const event of eventsOf(answer.text))
        assert.ok(
          validate(event),
          `${where}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(event).slice(0, 500)}`,
        );
      return;
    }
    if (type !== 'application/json') return;
    const validate = validatorFor(media.schema);
    assert.ok(
      validate(answer.body),
      `${where}: ${ajv.errorsText(validate.errors)}\n${answer.text.slice(0, 500)}`,
    );
    if (answer.status < 400) return;
    const documented = JSON.stringify(response);
    assert.ok(
      documented.includes(`\`${answer.body.error.code}\``),
      `${where}: the code ${answer.body.error.code} is not documented`,
    );
    assert.equal(answer.body.error.request_id, answer.headers.get('x-request-id'), `${where}: request id`);
  };
}

/** A service that hangs is a failure of the test, not of the run. */
const PATIENCE_MS = 60_000;

/** A client of one service. */
export class Client {
  readonly origin: string;
  readonly #check: ReturnType<typeof responseChecker>;

  constructor(origin: string, document: OpenApi) {
    this.origin = origin;
    this.#check = responseChecker(document);
  }

  /** Sends a request and checks the answer against the document. Paths without a leading `/api` are under `/api/v1`. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { body, cookie, headers = {}, key, raw } = options;
    const url = path.startsWith('//') ? path.slice(1) : `/api/v1${path}`;
    const response = await fetch(this.origin + url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        ...(body !== undefined || raw !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(key !== undefined ? { authorization: `Bearer ${key}` } : {}),
        ...(cookie !== undefined ? { cookie } : {}),
        ...headers,
      },
      ...(raw !== undefined ? { body: raw } : body !== undefined ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const isJson = type.startsWith('application/json');
    const isEvents = type.startsWith('text/event-stream');
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : isEvents ? eventsOf(text) : undefined,
    };
    this.#check(method, url.split('?')[0] ?? url, answer);
    return answer;
  }

  get = (path: string, options?: RequestOptions) => this.request('GET', path, options);
  post = (path: string, body: unknown, options?: RequestOptions) =>
    this.request('POST', path, { ...options, body });
  put = (path: string, body: unknown, options?: RequestOptions) =>
    this.request('PUT', path, { ...options, body });
  patch = (path: string, body: unknown, options?: RequestOptions) =>
    this.request('PATCH', path, { ...options, body });
  delete = (path: string, options?: RequestOptions) => this.request('DELETE', path, options);

  /** Signs a new account up. Returns its cookie and address. */
  async signUp(
    email = `user-${crypto.randomUUID()}@example.com`,
    password = 'correct horse battery',
  ): Promise<Owner> {
    const answer = await this.post('/auth/signup', { email, password });
    assert.equal(answer.status, 201, answer.text);
    const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
    return { email, password, cookie, accountId: answer.body.id };
  }

  /** Creates a key of an account; all scopes unless told otherwise. */
  async createKey(
    owner: { cookie: string },
    fields: Json = {},
  ): Promise<{ id: string; key: string; key_prefix: string }> {
    const scopes = ['chat', 'images', 'search', 'usage', 'models'];
    const answer = await this.post(
      '/keys',
      { name: 'Test key', scopes, ...fields },
      { cookie: owner.cookie },
    );
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  }
}

export type Owner = { email: string; password: string; cookie: string; accountId: string };
