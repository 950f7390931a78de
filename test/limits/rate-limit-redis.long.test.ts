import t from 'tap';
import { startReplica } from '../support/dashboard.ts';
import type { Answer, Client } from '../support/http.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { plansFile, startTestService } from '../support/service.ts';
import { eventually } from '../support/upstream/engine.ts';

const CHAT_CEILING = 400;
const AT_ONCE = 8;
/** How much an unavailable Redis may add to the p99 latency. */
const ADDED_MS = 1000;
/** A process writes this to Redis to learn whether it is available. */
const PROBE = 'parley:limit:probe';

const skip = !hasRedis() && 'redis-server is not installed (Debian: apt-get install redis-server).';

/** The number of requests served out of 30 concurrent ones across several replicas. */
async function served(clients: Client[], key: string): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => (clients[n % clients.length] as Client).get('/models', { key })),
  );
  return answers.filter(({ status }) => status === 200).length;
}

/** Waits until this many more requests under load have been answered. */
type Load = (count: number) => Promise<void>;

/** Sends requests continuously while `action` runs. Returns their responses and latencies. */
async function underLoad(clients: Client[], key: string, action: (load: Load) => Promise<unknown>) {
  const answers: (Answer & { ms: number })[] = [];
  let isOver = false;
  const sender = async (client: Client, n: number) => {
    for (let index = n; !isOver; index += 1) {
      const started = performance.now();
      const answer = await (index % 4 === 0
        ? client.post('/chat', { message: 'Hello', store: false }, { key })
        : client.get('/models', { key }));
      answers.push({ ...answer, ms: performance.now() - started });
    }
  };
  const senders = Array.from({ length: AT_ONCE }, (_, n) => sender(clients[n % clients.length] as Client, n));
  const load = async (count: number) => {
    const before = answers.length;
    await eventually(`${count} more responses`, async () => answers.length >= before + count);
  };
  try {
    await action(load);
  } finally {
    isOver = true;
  }
  await Promise.all(senders);
  return answers;
}

function p99(answers: { ms: number }[]): number {
  const sorted = answers.map(({ ms }) => ms).sort((one, other) => one - other);
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN);
}

await t.test(
  'replicas share windows in Redis, and its keys contain no email addresses',
  { skip },
  async (t) => {
    const redis = await startRedis(t);
    const env = { ...plansFile(t, {}, 6), REDIS_URL: redis.url, AUTH_ATTEMPTS_PER_MINUTE: '3' };
    const first = await startTestService(t, 'postgres', env);
    const second = await startReplica(t, first);
    const clients = [first.client, second.client];
    const owner = await first.client.signUp();
    const { key } = await first.client.createKey(owner);
    t.equal(await served(clients, key), 6, '6 of 30 concurrent requests across two replicas');

    const logIn = (index: number, password: string) =>
      (clients[index % 2] as Client).post('/auth/login', { email: owner.email, password });
    for (let n = 0; n < 5; n += 1)
      t.equal((await logIn(n, owner.password)).status, 200, 'successful sign-ins do not count');
    const failed = await Promise.all(Array.from({ length: 6 }, (_, n) => logIn(n, 'wrong password')));
    t.equal(failed.filter(({ status }) => status === 401).length, 3);
    const keys = await redis.keys();
    t.ok(keys.length > 3 && keys.every((name) => name.startsWith('parley:limit:')));
    t.notOk(keys.some((name) => name.includes('@')));
  },
);

t.test(
  'without Redis, processes start and count separately, and share windows once Redis is available',
  { skip },
  async (t) => {
    const redis = await startRedis(t);
    await redis.kill();
    const env = { ...plansFile(t, {}, 6), REDIS_URL: redis.url };
    const first = await startTestService(t, 'postgres', env);
    const second = await startReplica(t, first);
    const clients = [first.client, second.client];
    const owner = await first.client.signUp();
    const { key } = await first.client.createKey(owner);
    t.equal(await served(clients, key), 12, '6 requests per process');
    await redis.start();
    const newKey = async () => (await first.client.createKey(await first.client.signUp())).key;
    await eventually(
      'the windows are shared',
      async () => (await served(clients, await newKey())) === 6,
      15_000,
    );
  },
);

await t.test(
  'while Redis is killed, flushed, or hung under load, all requests are served, and the quota is exact',
  { skip },
  async (t) => {
    const redis = await startRedis(t);
    const env = { ...plansFile(t, { chat: CHAT_CEILING }), REDIS_URL: redis.url };
    const first = await startTestService(t, 'postgres', env);
    const clients = [first.client, (await startReplica(t, first)).client];
    const owner = await first.client.signUp();
    const { key } = await first.client.createKey(owner);
    const isUsed = async () => (await redis.keys()).some((name) => name !== PROBE);
    const phases: Record<string, (load: Load) => Promise<unknown>> = {
      healthy: (load) => load(200),
      flushed: async (load) => {
        for (let n = 0; n < 5; n += 1) {
          await redis.flush();
          await load(50);
        }
      },
      hung: async (load) => {
        redis.pause();
        await load(200);
        redis.resume();
        await redis.flush();
        await eventually('windows are counted in Redis again', isUsed);
        await load(50);
      },
      killed: async (load) => {
        await redis.kill();
        await load(200);
        await redis.start();
        await eventually('windows are counted in Redis again', isUsed);
        await load(50);
      },
    };
    const all: Answer[] = [];
    let healthyP99 = Number.NaN;
    for (const [title, action] of Object.entries(phases)) {
      const answers = await underLoad(clients, key, action);
      if (title === 'healthy') healthyP99 = p99(answers);
      const figures = `${title}: ${answers.length} responses, p99 ${p99(answers)} ms`;
      t.ok(answers.length > AT_ONCE && p99(answers) < healthyP99 + ADDED_MS, figures);
      all.push(...answers);
    }
    t.same(
      all.filter(({ body, status }) => status !== 200 && body.error.code !== 'quotaExceeded'),
      [],
      'requests are refused only if the quota is exceeded',
    );
    // Uses up the rest of the quota.
    for (let rest = true; rest; ) {
      const more = await Promise.all(
        Array.from({ length: AT_ONCE }, () =>
          first.client.post('/chat', { message: 'Hello', store: false }, { key }),
        ),
      );
      rest = more.every(({ status }) => status === 200);
      all.push(...more);
    }
    const delivered = all.filter(({ body, status }) => status === 200 && body.reply !== undefined).length;
    t.equal(delivered, CHAT_CEILING);
    const { body } = await first.client.get('/usage', { cookie: owner.cookie });
    t.equal(body.used.chat, CHAT_CEILING);
  },
);
