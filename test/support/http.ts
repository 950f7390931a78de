/** A client that checks the contract: every response to an operation must match the OpenAPI document. */
import assert from 'node:assert/strict';
import { scopes } from '../../schemas/keys.ts';
import { eventsOf } from './event-reader.ts';
import { type Answer, type Json, type OpenApi, responseChecker } from './response-checker.ts';

export type { Answer, Body, OpenApi } from './response-checker.ts';

export type RequestOptions = {
  body?: unknown;
  /** The body to send unchanged, in place of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  key?: string;
  cookie?: string;
};

/**
 * The `Cookie` header with which a browser would return the cookies that a response sets.
 *
 * @param name - include only cookies with this name
 */
export const cookiesOf = ({ headers }: { headers: Headers }, name = ''): string =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .filter((cookie) => cookie.startsWith(name === '' ? '' : `${name}=`))
    .join('; ');

/** The timeout of a request, so that a hanging service fails the test instead of blocking the run. */
const TIMEOUT_MS = 60_000;

/** One checker for each document, because compiling the schemas takes longer than most requests. */
const checkers = new WeakMap<OpenApi, ReturnType<typeof responseChecker>>();

function checkerOf(document: OpenApi): ReturnType<typeof responseChecker> {
  const checker = checkers.get(document) ?? responseChecker(document);
  checkers.set(document, checker);
  return checker;
}

/** A client of one service. */
export class Client {
  readonly origin: string;
  readonly #check: ReturnType<typeof responseChecker>;

  constructor(origin: string, document: OpenApi) {
    this.origin = origin;
    this.#check = checkerOf(document);
  }

  /**
   * Sends a request, and checks the response against the document.
   *
   * @param path - a path under `/api/v1`; with a leading `//`, a path from the root
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { body, cookie, headers = {}, key, raw } = options;
    const url = path.startsWith('//') ? path.slice(1) : `/api/v1${path}`;
    const response = await fetch(this.origin + url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
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
    const isJson = /^application\/json(;|$)/.test(type);
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

  /** Signs up a new account. Returns its email address, password, session cookie, and ID. */
  async signUp(
    email = `user-${crypto.randomUUID()}@example.com`,
    password = 'correct horse battery',
  ): Promise<Owner> {
    const answer = await this.post('/auth/signup', { email, password });
    assert.equal(answer.status, 201, answer.text);
    const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
    return { email, password, cookie, accountId: answer.body.id };
  }

  /** Creates a key of an account. It has all scopes, unless `fields` says otherwise. */
  async createKey(
    owner: { cookie: string },
    fields: Json = {},
  ): Promise<{ id: string; key: string; key_prefix: string; previous_secret_expires_at?: string | null }> {
    const answer = await this.post(
      '/keys',
      { name: 'Test key', scopes: [...scopes], ...fields },
      { cookie: owner.cookie },
    );
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  }
}

export type Owner = { email: string; password: string; cookie: string; accountId: string };
