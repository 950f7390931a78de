// Reliability test 22, in a real browser over HTTPS: a key works only for its origins, and cannot manage keys.
import type { Page } from 'playwright-core';
import t from 'tap';
import { noBrowser, proxyTo, site, startBrowser } from '../support/browser.ts';
import { plansFile, startTestService } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

const SERVICE = 'https://api.test';
const API = `${SERVICE}/api/v1`;
const openai = new URL('../clients/node_modules/openai/', import.meta.url);

type Ask = { url: string; init?: RequestInit };
type Seen =
  | { status: number; type: string; headers: Record<string, string>; text: string }
  | { error: string };

/** The parts of a response that a page can read, or the error if it can read nothing. */
const ask = (page: Page, url: string, init: RequestInit = {}): Promise<Seen> =>
  page.evaluate(
    async ({ init, url }: Ask) => {
      try {
        const { headers, status, type, text } = await fetch(url, init).then(async (response) => ({
          headers: Object.fromEntries([...response.headers]),
          status: response.status,
          type: response.type,
          text: await response.text(),
        }));
        return { status, type, headers, text };
      } catch (error) {
        return { error: String(error) };
      }
    },
    { url, init },
  );

const refused = { error: /TypeError: Failed to fetch/ };
const json = (body: object, key?: string): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  },
  body: JSON.stringify(body),
});

const upstream = await startUpstream({ chunks: 10 });
t.teardown(() => upstream.stop());

t.test('22: in a browser, a key works only for its allowed origins', { skip: noBrowser }, async (t) => {
  const { client, port } = await startTestService(t, 'postgres', {
    ...plansFile(t, { chat: 100 }),
    PUBLIC_URL: SERVICE,
    TRUST_PROXY: 'loopback',
    CHAT_URL: upstream.url,
  });
  const service = proxyTo(port);
  const home = site();
  const { open } = await startBrowser(t, {
    // The policy of the service's own pages blocks scripts from tests.
    'api.test': (request, response) => (request.url === '/' ? home : service)(request, response),
    'app.test': site({ openai }),
    'app.test:8443': site(),
    'other.test': site(),
    'evil.test': site(),
  });
  const owner = await client.signUp();
  const { key } = await client.createKey(owner, { allowed_origins: ['https://app.test'] });
  // Because of this key, preflight requests from other.test succeed.
  const stranger = await client.createKey(await client.signUp(), {
    allowed_origins: ['https://other.test'],
  });
  const used = async () => (await client.get('/usage', { cookie: owner.cookie })).body.used.chat;
  const { page: allowed } = await open('https://app.test/');

  await t.test('an allowed page chats, and reads its rate limits and its request ID', async (t) => {
    const before = await used();
    const answer = await ask(allowed, `${API}/chat`, json({ message: 'How do I create a key?' }, key));
    t.match(answer, { status: 200, type: 'cors', text: /"reply":"/ });
    t.match('headers' in answer && answer.headers, {
      'ratelimit-limit': '100',
      'ratelimit-remaining': String(99 - before),
      'ratelimit-reset': /^\d+$/,
      'ratelimit-policy': /"chat";q=100;w=86400/,
      ratelimit: /"chat";r=\d+/,
      'x-request-id': /^[0-9a-f-]{36}$/,
    });
    t.equal(await used(), before + 1);
  });

  await t.test('an allowed page reads events before the stream ends', async (t) => {
    await upstream.configure({ chunks: 10, fault: 'stall' });
    const text = await allowed.evaluate(
      async ({ init, url }: Ask) => {
        const leaves = new AbortController();
        const response = await fetch(url, { ...init, signal: leaves.signal });
        const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
        let text = '';
        while (!text.includes('event: delta')) {
          const read = await reader?.read();
          if (read === undefined || read.done) break;
          text += read.value;
        }
        leaves.abort();
        return text;
      },
      { url: `${API}/chat`, init: json({ message: 'How do I create a key?', stream: true }, key) },
    );
    await upstream.configure({ chunks: 10 });
    t.match(text, /^event: start\n.*\nevent: delta\n/s);
    t.notMatch(text, /event: (done|error)/, 'the stream has not ended');
  });

  await t.test('on an allowed page, the OpenAI client chats, streams, and reads headers', async (t) => {
    const seen = await allowed.evaluate(
      async ({ apiKey, baseURL, model }) => {
        const path = '/openai/index.mjs';
        const { OpenAI } = await import(path);
        const client = new OpenAI({ apiKey, baseURL, dangerouslyAllowBrowser: true });
        const messages = [{ role: 'user', content: 'How do I create a key?' }];
        const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
        const stream = await client.chat.completions.create({
          model,
          messages,
          stream: true,
        });
        const pieces: string[] = [];
        for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta?.content ?? '');
        const problem = await client.models.retrieve('nothing').catch((error: object) => error);
        return {
          whole: data.choices[0].message.content,
          remaining: response.headers.get('ratelimit-remaining'),
          pieces,
          problem: { status: problem.status, code: problem.code, requestID: problem.requestID },
        };
      },
      { apiKey: key, baseURL: API, model: MODEL },
    );
    t.match(seen.whole, /\w/);
    t.equal(seen.pieces.join(''), seen.whole);
    t.ok(seen.pieces.length > 2);
    t.match(seen.remaining, /^\d+$/);
    t.match(seen.problem, { status: 404, code: 'notFound', requestID: /^[0-9a-f-]{36}$/ });
  });

  await t.test('an allowed page reads errors: invalid input, missing scope, exceeded quota', async (t) => {
    t.match(await ask(allowed, `${API}/chat`, json({}, key)), { status: 400, text: /invalidRequest/ });
    const narrow = await client.createKey(owner, {
      allowed_origins: ['https://app.test'],
      scopes: ['usage'],
    });
    t.match(await ask(allowed, `${API}/chat`, json({ message: 'Hi' }, narrow.key)), {
      status: 403,
      headers: { 'www-authenticate': /scope="chat"/ },
      text: /insufficientScope/,
    });
    const poor = await client.createKey(await client.signUp(), { allowed_origins: ['https://app.test'] });
    for (let n = 0; n < 100; n += 8)
      await client.post(
        '/chat/completions',
        { messages: [{ role: 'user', content: 'Hi' }], n: Math.min(8, 100 - n) },
        { key: poor.key },
      );
    t.match(await ask(allowed, `${API}/chat`, json({ message: 'Hi' }, poor.key)), {
      status: 429,
      headers: { 'retry-after': /^\d+$/, 'ratelimit-remaining': '0' },
      text: /quotaExceeded/,
    });
  });

  await t.test('a page from another origin can read nothing and trigger nothing', async (t) => {
    const before = await used();
    const { chat } = await upstream.calls();
    for (const origin of ['https://evil.test/', 'https://other.test/', 'https://app.test:8443/']) {
      const { page } = await open(origin);
      for (const init of [
        json({ message: 'Hi' }, key),
        { ...json({ message: 'Hi' }, key), credentials: 'include' as const },
      ])
        t.match(await ask(page, `${API}/chat`, init), refused, origin);
      t.match(await ask(page, `${API}/chat`, json({ message: 'Hi', stream: true }, key)), refused, origin);
      t.match(
        await ask(page, `${API}/usage`, { headers: { authorization: `Bearer ${key}` } }),
        refused,
        origin,
      );
      // Without a preflight request, and without the key, which browsers remove from no-cors requests.
      const blind = await ask(page, `${API}/chat`, { ...json({ message: 'Hi' }, key), mode: 'no-cors' });
      t.match(blind, refused, 'Cross-Origin-Resource-Policy');
      await page.close();
    }
    t.equal(await used(), before, 'nothing was charged');
    t.equal((await upstream.calls()).chat, chat, 'no request reached the upstream');

    const { page: other } = await open('https://other.test/');
    t.match(
      await ask(other, `${API}/chat`, json({ message: 'Hi' }, stranger.key)),
      { status: 200 },
      'with its own key',
    );
  });

  const { page: own } = await open(`${SERVICE}/`);

  await t.test("a page on the service's own origin can use any key, without CORS", async (t) => {
    const answer = await ask(own, `${API}/chat`, json({ message: 'Hi' }, stranger.key));
    t.match(answer, { status: 200, type: 'basic' });
  });

  await t.test('other origins cannot reach key management, signed in or not', async (t) => {
    const { email, password } = owner;
    t.match(await ask(own, `${API}/auth/login`, json({ email, password })), { status: 200, type: 'basic' });
    t.match(await ask(own, `${API}/keys`), { status: 200 }, 'the own origin of the service is signed in');
    const cookies = await own.context().cookies();
    t.match(cookies, [{ name: '__Host-parley_session', secure: true, httpOnly: true, sameSite: 'Strict' }]);
    const before = (await client.get('/keys', { cookie: owner.cookie })).body.data;

    const evil = await open('https://evil.test/');
    const newKey = { name: 'Stolen', scopes: ['chat'] };
    for (const page of [allowed, evil.page]) {
      for (const bearer of [undefined, key]) {
        for (const credentials of ['omit', 'include'] as const) {
          const headers: Record<string, string> = bearer ? { authorization: `Bearer ${bearer}` } : {};
          const what = `${page.url()} ${bearer ? 'key' : 'no key'} ${credentials}`;
          t.match(await ask(page, `${API}/keys`, { headers, credentials }), refused, `list: ${what}`);
          t.match(
            await ask(page, `${API}/keys`, { ...json(newKey, bearer), credentials }),
            refused,
            `create: ${what}`,
          );
          t.match(
            await ask(page, `${API}/keys/${before[0].id}`, { method: 'DELETE', headers, credentials }),
            refused,
            `revoke: ${what}`,
          );
        }
      }
      // Requests without a preflight reach the service, which refuses them: they have no cookie, and are not JSON.
      for (const body of [JSON.stringify(newKey), new URLSearchParams({ name: 'Stolen' }).toString()]) {
        const blind = { method: 'POST', mode: 'no-cors', credentials: 'include', body } as const;
        t.match(await ask(page, `${API}/keys`, blind), refused);
      }
    }
    t.same((await client.get('/keys', { cookie: owner.cookie })).body.data, before, 'the keys are unchanged');
  });
});
