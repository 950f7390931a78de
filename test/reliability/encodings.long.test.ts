// Reliability test 61, generated for every parameter: no value in a path, query, or cursor causes a server error.
import t from 'tap';
import { encodedValues } from '../support/encodings.ts';
import type { Owner } from '../support/http.ts';
import { askRaw } from '../support/raw-http.ts';
import { onEachDatabase } from '../support/service.ts';

const id = '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f';
t.setTimeout(1_800_000);
/** Sessions and addresses are limited to 300 requests a minute, so the test switches to new ones before that. */
const EACH_AT_MOST = 250;

onEachDatabase(t, { TRUST_PROXY: 'loopback' }, async (t, { app, client, paths, port }) => {
  let owner: Owner = await client.signUp();
  let asked = 0;
  const ask = async (path: string, accept = '*/*') => {
    asked += 1;
    if (asked % EACH_AT_MOST === 0) owner = await client.signUp();
    const address = `10.0.${Math.floor(asked / EACH_AT_MOST)}.1`;
    return askRaw(port, path, { cookie: owner.cookie, accept, 'x-forwarded-for': address });
  };
  const isFine = (status: number) => status < 500 && status !== 429;

  await t.test('61: encoded and invalid values in any path never cause a 5xx', async (t) => {
    const urls = [...paths.methodsOf.keys()].filter((url) => /[:*]/.test(url));
    const beyond = ['/', '/assets/', '/assets/reference/', '/docs/', '/docs/guides/', '/docs/errors/'];
    t.ok(urls.length > 8, `${urls.length} paths with parameters`);
    const failed: string[] = [];
    for (const value of encodedValues) {
      for (const url of [...urls, ...beyond.map((url) => `${url}*`)]) {
        const path = url.replace(/:\w+|\*/, value);
        const { status } = await ask(path);
        if (!isFine(status)) failed.push(`${path.slice(0, 60)} → ${status}`);
      }
    }
    for (const path of beyond) {
      const { status } = await ask(path);
      if (!isFine(status)) failed.push(`${path} → ${status}`);
    }
    t.same(failed, []);
  });

  await t.test('61: encoded and invalid values in any query parameter never cause a 5xx', async (t) => {
    const document = app.swagger() as unknown as {
      paths: Record<string, { get?: { parameters?: ({ name: string; in: string } | { $ref: string })[] } }>;
    };
    const failed: string[] = [];
    const queries = Object.entries(document.paths).flatMap(([path, { get }]) => {
      const names = (get?.parameters ?? []).map((one) =>
        '$ref' in one
          ? one.$ref.includes('LimitTo')
            ? 'limit'
            : 'cursor'
          : one.in === 'query'
            ? one.name
            : 'x',
      );
      return get === undefined ? [] : [...new Set([...names, 'x'])].map((name) => ({ path, name }));
    });
    queries.push({ path: '/docs/search', name: 'q' }, { path: '/', name: 'x' });
    t.ok(queries.length > 20, `${queries.length} parameters`);
    for (const { path, name } of queries) {
      for (const value of encodedValues) {
        const target = `${path.replace('{id}', id)}?${name}=${value}`;
        const { status } = await ask(target);
        if (!isFine(status)) failed.push(`${target.slice(0, 80)} → ${status}`);
      }
    }
    t.same(failed, []);
  });

  await t.test(
    '61: a cursor from another list, from another account, or with a changed character never causes a 5xx',
    async (t) => {
      const [one, other] = [await client.signUp(), await client.signUp()];
      for (const { cookie } of [one, other])
        for (let n = 0; n < 3; n += 1) await client.post('/chat', { message: `${n}` }, { cookie });
      await client.post('/auth/login', { email: one.email, password: one.password });
      const lists = ['/conversations', '/events', '/requests'];
      for (const from of lists) {
        const made = (await client.get(`${from}?limit=1`, { cookie: one.cookie })).body.next_cursor as string;
        t.ok(made, from);
        for (const at of lists) {
          const foreign = await client.get(`${at}?limit=1&cursor=${made}`, { cookie: other.cookie });
          t.ok(isFine(foreign.status), `${from} → ${at}: ${foreign.status}`);
        }
        for (let at = 0; at < made.length; at += 1) {
          const mutated = `${made.slice(0, at)}${made[at] === '9' ? '8' : '9'}${made.slice(at + 1)}`;
          const { status } = await ask(`/api/v1${from}?cursor=${mutated}`);
          t.ok(isFine(status), `${from}: ${mutated} → ${status}`);
        }
      }
    },
  );
});
