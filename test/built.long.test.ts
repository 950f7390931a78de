// The service as `make start` runs it: the bundle in `dist`, with everything that is outside it or loaded on demand.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { Client, type OpenApi } from './support/http.ts';
import { startCollector } from './support/otlp-collector.ts';
import { startProcess } from './support/process.ts';
import { hasRedis, startRedis } from './support/redis.ts';
import { freshDatabase } from './support/service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Uses each feature that needs native code, a thread, a package's data, or a folder of the repository. */
async function exercise(t: Test, origin: string): Promise<void> {
  const client = new Client(origin, (await (await fetch(`${origin}/openapi.json`)).json()) as OpenApi);
  const owner = await client.signUp();
  t.match(
    await client.post('/auth/signup', { email: 'common@example.com', password: 'password1234' }),
    { status: 400, body: { error: { code: 'invalidRequest' } } },
    'the list of common passwords is loaded',
  );
  const { key } = await client.createKey(owner, { scopes: ['chat', 'images', 'search', 'usage'] });
  const messages = Array.from({ length: 12 }, () => ({ role: 'user', content: 'x'.repeat(100_000) }));
  const large = await client.post('/chat/completions', { messages }, { key });
  t.match(large, { status: 200 }, 'a worker thread parses the body');
  t.equal((await client.post('/images/generations', { prompt: 'a boat' }, { key })).status, 200);
  t.equal((await client.post('/search', { query: 'create a key' }, { key })).status, 200);
  t.equal((await client.get('/usage', { key })).body.used.chat, 1);
  for (const path of ['/', '/docs', '/docs/try', '/docs/guides/accounts'])
    t.equal((await fetch(`${origin}${path}`)).status, 200, path);
}

const parley = (env: Record<string, string>, ...args: string[]) =>
  execFileSync(process.execPath, ['dist/src/commands/parley.js', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    encoding: 'utf8',
  });

t.test('the bundle works on the embedded database', async (t) => {
  const database = await freshDatabase('embedded');
  t.teardown(() => database.drop());
  const service = await startProcess(t, database.env);
  await exercise(t, service.origin);
  t.match(parley(database.env, 'audit'), /0 differences/, 'audit runs inside the service');
  t.match(await service.end(), { code: 0 });
  t.match(parley(database.env, 'audit'), /0 differences/, 'audit opens the database itself');
});

t.test(
  'the bundle works with two workers on Postgres, Redis, and OpenTelemetry',
  { skip: !hasRedis() && 'needs redis-server' },
  async (t) => {
    const database = await freshDatabase('postgres');
    t.teardown(() => database.drop());
    const redis = await startRedis(t);
    const collector = await startCollector(t);
    const env = {
      ...database.env,
      WORKERS: '2',
      REDIS_URL: redis.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    };
    const service = await startProcess(t, env);
    await exercise(t, service.origin);
    const keys = await redis.keys();
    t.ok(
      keys.some((name) => /^parley:limit:(?!probe$)/.test(name)),
      `Redis counts the rate limits: ${keys}`,
    );
    t.match(await service.end(), { code: 0 });
    t.not(collector.spans.length, 0, 'the collector received spans');
  },
);
