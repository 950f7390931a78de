// The daily token limit across three replicas: 600 concurrent requests, a kill during streams, and a random race.
import postgres from 'postgres';
import t from 'tap';
import { type Caller, History } from '../support/history.ts';
import { differences } from '../support/ledger-state.ts';
import { type Replica, startCluster } from '../support/replicas.ts';
import { plansFile } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';

const CEILING = 20_000;
const MAX_OUTPUT = 500;
/** The lease of a dead process, and two sweeps. */
const SWEPT_WITHIN_MS = 90_000;

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client, databaseUrl, replicas } = await startCluster(t, {
  count: 3,
  env: {
    ...plansFile(t, { tokens: CEILING }),
    CHAT_URL: upstream.url,
    CALLS_PER_ACCOUNT: '1000',
    STREAMS_PER_ACCOUNT: '1000',
    DEFAULT_MAX_OUTPUT_TOKENS: String(MAX_OUTPUT),
  },
});
const sql = postgres(databaseUrl, { max: 4, onnotice: () => {} });
t.teardown(() => sql.end());

type Counter = { used: number; reserved: number; excess: number };

async function counterOf(accountId: string): Promise<Counter> {
  const [row] = await sql<Counter[]>`
    select used::int, reserved::int, excess::int from usage_counters
    where account_id = ${accountId} and meter = 'tokens'`;
  return row ?? { used: 0, reserved: 0, excess: 0 };
}

/** Polls the counter until the returned function is called, which returns the maximum used and reserved. */
function watch(accountId: string): () => Promise<number> {
  let isOver = false;
  let most = 0;
  const watching = (async () => {
    while (!isOver) {
      const { excess, reserved, used } = await counterOf(accountId);
      most = Math.max(most, used + reserved - excess);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
}

const originOf = (n: number) => replicas[n % replicas.length]?.origin as string;

t.test(
  'of 600 concurrent requests across three replicas, only as many as fit into the token limit are admitted',
  async (t) => {
    const owner: Caller = await client.signUp();
    const history = new History();
    await upstream.configure({ headersDelayMs: 3000 });
    const stop = watch(owner.accountId);
    const sent = Promise.all(Array.from({ length: 600 }, (_, n) => history.chat(originOf(n), owner)));
    await sent;
    const most = await stop();
    await upstream.reset();
    t.ok(most <= CEILING, `at most ${most} of ${CEILING} tokens were used or reserved`);
    const bound = Number(
      (
        await sql`select max(released_tokens)::int as bound from requests where account_id = ${owner.accountId}`
      )[0]?.bound,
    );
    t.ok(bound > MAX_OUTPUT, `each request reserved ${bound} tokens`);
    t.ok(most > CEILING - 2 * bound, 'nearly all tokens were used or reserved');
    t.same(Object.keys(history.summary()).sort(), ['200', 'quotaExceeded']);
    t.ok(
      history.delivered().length >= Math.floor(CEILING / bound),
      `${history.delivered().length} requests were served`,
    );
    const { excess, reserved, used } = await counterOf(owner.accountId);
    t.same({ excess, reserved }, { excess: 0, reserved: 0 });
    t.ok(used > 0 && used < CEILING);
    t.same(await differences(databaseUrl), []);
  },
);

t.test(
  'if a replica is killed during streams, their reserved tokens count as used and nothing stays reserved',
  async (t) => {
    const owner: Caller = await client.signUp();
    const history = new History();
    const [killed, other] = replicas as [Replica, Replica];
    await upstream.configure({ chunks: 1000, chunkIntervalMs: 200 });
    const streams = Array.from({ length: 5 }, () =>
      history.chat(killed.origin, owner, { message: 'Hello', store: false, stream: true }),
    );
    const open = async () =>
      Number(
        (
          await sql`select count(*)::int as open from requests
        where account_id = ${owner.accountId} and state = 'final' and reserved_tokens is not null`
        )[0]?.open,
      );
    await eventually('all five requests are streaming', async () => (await open()) === 5);
    const before = await counterOf(owner.accountId);
    await killed.kill();
    await Promise.all(streams);
    await upstream.reset();
    await eventually(
      'the streams are swept',
      async () => (await counterOf(owner.accountId)).reserved === 0,
      SWEPT_WITHIN_MS,
    );
    t.same(await counterOf(owner.accountId), { used: before.reserved, reserved: 0, excess: 0 });
    t.same(await differences(databaseUrl), []);
    t.equal((await history.chat(other.origin, owner)).status, 200, 'the remaining tokens can be used');
    await killed.start();
  },
);

t.test(
  'the audit is clean after concurrent requests that succeed, fail, disconnect, and retry',
  async (t) => {
    const owners: Caller[] = await Promise.all(Array.from({ length: 4 }, () => client.signUp()));
    const history = new History();
    const stops = owners.map(({ accountId }) => watch(accountId));
    const seed = Date.now() % 1_000_000;
    t.comment(`seed ${seed}`);
    let state = seed;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const one = async (n: number) => {
      const owner = owners[random(owners.length)] as Caller;
      const body = {
        message: 'x'.repeat(1 + random(300)),
        store: false,
        stream: random(2) === 0,
        max_output_tokens: 1 + random(2000),
      };
      const caller = random(3) === 0 ? { ...owner, idempotencyKey: `key-${random(20)}` } : owner;
      await history.chat(originOf(n), caller, body, random(5) === 0 ? 1 + random(200) : 30_000);
    };
    const until = performance.now() + 30_000;
    for (let n = 0; performance.now() < until; n += 40) {
      await upstream.configure(
        random(3) === 0
          ? { fault: (['status', 'cut', 'reset'] as const)[random(3)] ?? 'cut' }
          : { chunkIntervalMs: 5 },
      );
      await Promise.all(Array.from({ length: 40 }, (_, m) => one(n + m)));
    }
    await upstream.reset();
    for (const stop of stops) t.ok((await stop()) <= CEILING);
    for (const { accountId } of owners)
      await eventually(
        'no tokens are reserved',
        async () => (await counterOf(accountId)).reserved === 0,
        SWEPT_WITHIN_MS,
      );
    t.ok(history.delivered().length > 0, JSON.stringify(history.summary()));
    t.same(await differences(databaseUrl), []);
  },
);
