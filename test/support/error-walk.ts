/** Reliability test 54: requests that cause every error, with canaries in all input that a client can send. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Client, RequestOptions } from './http.ts';
import { meteredRequests } from './metered.ts';
import type { ServiceProcess } from './process.ts';
import type { Upstream } from './upstream/client.ts';
import { eventually } from './upstream/engine.ts';

/** Secrets that the requests contain, and that no log and no error response may contain. */
export const canaries = {
  password: 'canary-Password-8f3a1c',
  newPassword: 'canary-NewPassword-77be02',
  wrongPassword: 'canary-WrongPassword-19dd5e',
  prompt: 'canaryPrompt4d2e9b',
  retry: 'canary-Retry-5b6c7d',
};
export const email = 'canary-owner@example.com';

/** Sends bytes without changes. Returns the response after at most two seconds. */
const sendRaw = (port: number, text: string) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    for (const end of ['close', 'error']) socket.on(end, () => resolve(received));
    setTimeout(() => socket.destroy(), 2000).unref();
  });

/** Sends requests, and records the statuses and error codes of the responses. */
export class Walker {
  readonly codes = new Set<string>();
  readonly statuses = new Set<number>();
  /** The bodies and headers of all error responses. */
  told = '';
  client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const answer = await this.client.request(method, path, options);
    this.statuses.add(answer.status);
    if (answer.status >= 400) {
      this.codes.add(answer.body?.error?.code);
      this.told += `${answer.text}\n${JSON.stringify([...answer.headers])}\n`;
    }
    return answer;
  }
}

export type Setting = { walker: Walker; service: ServiceProcess; upstream: Upstream };
type Credentials = { cookie: string; key: string };

/** Sends requests for every error code, except for those that need a database failure or that `exhaust` causes. */
export async function walk(
  { service, upstream, walker }: Setting,
  { cookie, key }: Credentials,
): Promise<void> {
  const { password, prompt, wrongPassword } = canaries;
  const chat = { message: prompt };
  const messages = [
    { role: 'system', content: prompt },
    { role: 'user', content: prompt },
  ];
  /** Other fields that can contain a prompt. */
  const more: Record<string, object> = {
    '/chat': { instructions: prompt },
    '/chat/completions': { messages },
    '/responses': { instructions: prompt },
    '/messages': { system: prompt },
  };
  const calls = meteredRequests(prompt).map(({ body, path }): [string, object] => [
    path,
    { ...body, ...more[path] },
  ]);
  const post = (path: string, body: unknown, options: RequestOptions = {}) =>
    walker.ask('POST', path, { body, key, ...options });

  // 400, 413, 415, 422
  for (const [path, body] of calls) {
    await post(path, { ...body, message: [prompt], nonsense: prompt });
    await post(`${path}?api_key=${key}&q=${prompt}`, body);
    await post(path, undefined, { raw: `{"message":"${prompt}"` });
    await post(path, undefined, { raw: `{"message":"${prompt}\\u0000"}` });
    await post(path, undefined, { raw: prompt, headers: { 'content-type': 'text/plain' } });
  }
  await post('/search', { query: `${prompt} `.repeat(100_000) });
  const retry = { 'idempotency-key': canaries.retry };
  await Promise.all([
    post('/chat', { ...chat, store: false }, { headers: retry }),
    post('/chat', { ...chat, store: false }, { headers: retry }),
  ]);
  await post('/chat', { message: `${prompt} again`, store: false }, { headers: retry });
  await sendRaw(service.port, `GET / HTTP/1.1\r\nCookie: ${cookie}\r\nAuthorization: ${key}\n\n${prompt}`);
  await sendRaw(
    service.port,
    `POST /api/v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"message":"${prompt}"`,
  );

  // 401, 403, 404, 405
  await walker.ask('GET', '/usage');
  await walker.ask('GET', '/account', { cookie: `${cookie}x` });
  await walker.ask('GET', '/usage', { key: `${key.slice(0, -1)}!` });
  await walker.ask('GET', '/keys', { key, cookie });
  await walker.ask('GET', `/models/${key}`, { key });
  await walker.ask('GET', `/${key}/nothing-here`, { cookie });
  await walker.ask('PUT', `/keys/${key}`, { cookie });
  await walker.ask('DELETE', '/usage', { key });
  await post('/chat', { ...chat, model: prompt });
  await post('/chat', { ...chat, conversation_id: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f' });
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
    for (const [path, body] of calls) await walker.ask('POST', path, { body, cookie, headers });
  await post('/chat', chat, { headers: { origin: 'https://evil.example' } });
  const managed = { plan: 'large', billing_period: 'yearly' };
  await walker.ask('PUT', '/subscription', { body: managed, cookie });

  // Passwords: 400, 401, 409, 429
  const wrong = { email, password: wrongPassword };
  await walker.ask('POST', '/auth/login', { body: { ...wrong, nonsense: password } });
  await walker.ask('POST', '/auth/login', { raw: `{"email":"${email}","password":"${password}"` });
  await walker.ask('POST', '/auth/signup', { body: { email, password } });
  await walker.ask('PATCH', '/account', { body: { email, current_password: wrongPassword }, cookie });
  const change = { current_password: wrongPassword, new_password: password };
  await walker.ask('POST', '/account/password', { body: change, cookie });
  for (let n = 0; n < 12; n += 1) await walker.ask('POST', '/auth/login', { body: wrong });

  // Errors of the upstream, which repeat the prompt where possible: 502, 503, 504, 400
  const message = `Cannot answer "${prompt}" for ${prompt}.`;
  const faults = [
    { fault: 'status', status: 400, message, param: 'messages' },
    { fault: 'status', status: 422, message, code: 'invalid_prompt' },
    { fault: 'status', status: 401, message, code: 'invalid_api_key' },
    { fault: 'status', status: 404, message: `The model ${prompt} does not exist` },
    { fault: 'status', status: 429, message },
    { fault: 'status', status: 500, message },
    { fault: 'redirect' },
    { fault: 'content-type' },
    { fault: 'bad-json' },
    { fault: 'error-body', message },
    { fault: 'reset' },
    { fault: 'refuse' },
    { fault: 'truncate', faultAfter: 0 },
    { fault: 'error-event', faultAfter: 1, message },
    { fault: 'bad-event', faultAfter: 1 },
    { fault: 'cut', faultAfter: 1 },
    { fault: 'hang' },
  ] as const;
  for (const fault of faults) {
    await upstream.configure(fault);
    await Promise.all(calls.map(([path, body]) => post(path, body)));
  }
  const echo = [{ message: { content: prompt } }, { index: 0, message: prompt }];
  for (const settings of [
    { completion: { choices: echo } },
    { completion: { error: { message, code: prompt.repeat(9) } } },
    { completion: prompt },
    { images: { data: [{ url: `https://x.example/${prompt}` }] }, search: { results: prompt } },
    { events: [`{"choices": ${prompt}`, `{"error":{"message":"${message}"}}`] },
  ]) {
    await upstream.configure(settings);
    await Promise.all(calls.map(([path, body]) => post(path, body)));
  }
  await upstream.configure({});

  // 503 overloaded, and a client that disconnects
  const flood = Array.from({ length: 120 }, (_, n) =>
    walker.ask('POST', '/auth/login', { body: { email: `flood-${n}@example.com`, password: wrongPassword } }),
  );
  await Promise.all(flood);
  const leaving = new AbortController();
  await upstream.configure({ firstChunkDelayMs: 1000 });
  const { chat: before } = await upstream.calls();
  const left = fetch(`${service.origin}/api/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(chat),
    signal: leaving.signal,
  }).catch(() => undefined);
  await eventually('the request is in flight', async () => (await upstream.calls()).chat > before);
  leaving.abort();
  await left;
  // 429 tooManyStreams
  await Promise.all(Array.from({ length: 4 }, () => post('/chat', { ...chat, stream: true })));
  await upstream.configure({});
}

/**
 * Causes 429 for a spent quota, 401 for revoked and expired keys, and 429 for the limits of keys and of requests per
 * minute.
 *
 * @param full - a key with all scopes
 */
export async function exhaust({ walker }: Setting, owner: { cookie: string }, full: string): Promise<void> {
  const { cookie } = owner;
  const { prompt } = canaries;
  const searches = Array.from({ length: 70 }, () =>
    walker.ask('POST', '/search', { body: { query: prompt }, key: full }),
  );
  await Promise.all(searches);
  const narrow = await walker.client.createKey(owner, { name: 'Narrow', scopes: ['models'] });
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: narrow.key });
  const expiresAt = Date.now() + 1500;
  const expiring = { name: 'Soon', scopes: ['chat'], expires_at: new Date(expiresAt).toISOString() };
  const soon = await walker.client.createKey(owner, expiring);
  await walker.ask('DELETE', `/keys/${narrow.id}`, { cookie });
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: narrow.key });
  for (let n = 0; n < 6; n += 1)
    await walker.ask('POST', '/keys', { body: { name: 'More', scopes: ['chat'] }, cookie });
  await sleep(expiresAt - Date.now() + 100);
  await walker.ask('POST', '/chat', { body: { message: prompt }, key: soon.key });
  const minute = Array.from({ length: 330 }, () => walker.ask('GET', '/account', { cookie }));
  await Promise.all(minute);
}
