// Random faults of three targets, and client disconnects: every request has one reply or one error, and one charge or one
// refund. `FAULT_ROUNDS=400 UNDER_LOAD=10000` runs 10,000 schedules, and 10,000 requests while targets die.
import { subscribe } from 'node:diagnostics_channel';
import { sql } from 'drizzle-orm';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { audit } from '../../src/store/ledger-audit.ts';
import type { DialectKind } from '../../src/upstreams-file/schema.ts';
import { Gate } from '../support/gate.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import type { Settings } from '../support/upstream/settings.ts';
import { wireServer } from '../support/upstream/wire.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const ofKind = {
  openai: await startUpstream(),
  anthropic: await startUpstream(),
  'openai-responses': await startUpstream(),
} satisfies Record<DialectKind, unknown>;
const kinds = Object.keys(ofKind);
const upstreams = Object.values(ofKind);
t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.stop())));

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

type Random = (below: number) => number;

/** The Park–Miller generator. */
function generator(start: number): Random {
  let state = (start % 2_147_483_646) + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/** Faults that end a request before its first output. */
const deadly: readonly Partial<Settings>[] = [
  { fault: 'reset' },
  { fault: 'hang' },
  { fault: 'status', status: 500 },
  { fault: 'bad-json' },
  { fault: 'error-body' },
  { fault: 'content-type' },
  { fault: 'cut', faultAfter: 0 },
  { fault: 'cut-bytes', cutBytes: 0 },
];
const faults: readonly Partial<Settings>[] = [
  ...[{}, {}, {}, ...deadly],
  { fault: 'status', status: 429, retryAfter: '1' },
  { fault: 'status', status: 400 },
  { fault: 'cut', faultAfter: 3 },
  { fault: 'truncate', faultAfter: 2 },
  { fault: 'bad-event', faultAfter: 2 },
  { fault: 'stall', faultAfter: 1 },
  { chunks: 5, chunkIntervalMs: 10, splitBytes: 7 },
];
/** Longer than any response in this file. */
const MAX_BYTES = 2500;

/**
 * Draws a target's behavior for one request. Whatever the seed is, every fourth round fails, and every fourth succeeds.
 */
function draw(random: Random, round: number, target: number): Partial<Settings> {
  // Every fault in this list prevents any output.
  if (round % 4 === 0) return deadly[random(deadly.length)] ?? {};
  if (round % 4 === 2 && target === 0) return {};
  if (random(4) === 0) return { fault: 'cut-bytes', cutBytes: random(MAX_BYTES) };
  return faults[random(faults.length)] ?? {};
}

const AT_ONCE = 25;

/** Configures the behavior of all targets for a round: a schedule per request. One target may refuse connections. */
async function configure(random: Random, round: number): Promise<void> {
  const gone = round % 4 === 2 ? undefined : random(8);
  await Promise.all(
    upstreams.map((upstream, target) => {
      const schedules = Array.from({ length: AT_ONCE }, () => draw(random, round, target));
      return upstream.configure({ schedules, ...(target === gone && { fault: 'refuse' as const }) });
    }),
  );
}

const bodies = [
  ['/chat', (message: string) => ({ message })],
  ['/chat/completions', (content: string) => ({ messages: [{ role: 'user', content }] })],
  ['/responses', (input: string) => ({ input })],
  ['/messages', (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 100 })],
] as const;

type Asked = {
  name: string;
  key: string;
  path: string;
  body: object;
  leaveMs?: number | undefined;
  idempotencyKey?: string | undefined;
};
type Ended = { id: string; status: number; text: string; isReplay: boolean };

let sent = 0;
/** Identifies a client's request, including its retries. */
const NAME = 'x-test-request';
/** The request IDs in the service by that name, even if the client disconnected before it saw one. */
const ran = new Map<string, string[]>();
subscribe('tracing:fastify.request.handler:start', (message) => {
  const { headers, id } = (message as { request: FastifyRequest }).request;
  const name = String(headers[NAME]);
  ran.set(name, [...(ran.get(name) ?? []), id]);
});

/** Posts a request, and disconnects after `leaveMs` if it is set. Returns undefined if the client saw no status. */
async function ask({ client }: TestService, asked: Asked): Promise<Ended | undefined> {
  const { body, idempotencyKey, key, leaveMs, name, path } = asked;
  sent += 1;
  try {
    const response = await fetch(`${client.origin}/api/v1${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(leaveMs ?? 60_000) },
      headers: {
        ...{ 'content-type': 'application/json', authorization: `Bearer ${key}`, [NAME]: name },
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
    });
    const text = await response.text().catch((error) => {
      if (leaveMs === undefined) throw error;
      return '';
    });
    const { headers, status } = response;
    const isReplay = headers.get('idempotency-replayed') === 'true';
    return { id: headers.get('x-request-id') ?? '', status, text, isReplay };
  } catch (error) {
    if (leaveMs === undefined) throw error;
    return undefined;
  }
}

type Row = { id: string; account_id: string; state: string; status: number; units: number };

const isOutput = (text: string) => /"(text|content|delta|reply)": ?"[^"]/.test(text);

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 40);
/** The number of requests while one of three targets dies. */
const UNDER_LOAD = Number(process.env.UNDER_LOAD ?? 2000);
const UNITS = 3;

/** Creates two accounts with a token limit and two without, each with a key. */
const signUpAll = ({ client }: TestService) =>
  Promise.all(
    ['small', 'small', 'large', 'large'].map(async (plan) => {
      const owner = await client.signUp();
      if (plan !== 'small')
        await client.put('/subscription', { plan, billing_period: 'monthly' }, { cookie: owner.cookie });
      return { ...owner, ...(await client.createKey(owner)) };
    }),
  );

t.test(
  `${ROUNDS * AT_ONCE} requests under random faults are charged at most once, and every response matches its charge`,
  { timeout: 0 },
  async (t) => {
    const timeouts = { connectMs: 200, firstByteMs: 150, idleMs: 150 };
    const file = several(upstreams, { timeouts }, { units: UNITS });
    const [model] = file.models;
    // Each round has its own model, so that its faults cool down only its own targets.
    const models = Array.from({ length: ROUNDS }, (_, round) => ({
      ...{ ...model, name: `public-${round}` },
      targets: model?.targets.map((target) => ({ ...target, model: `test-model-${round}` })),
    }));
    const ofKinds = file.upstreams.map((upstream, position) => ({ ...upstream, kind: kinds[position] }));
    const { env } = upstreamsFile({ ...file, upstreams: ofKinds, models });
    const plans = plansFile(t, { tokens: 500_000_000 });
    onEachDatabase(t, { ...env, ...plans, STREAMS_PER_ACCOUNT: '1000' }, async (t, service) => {
      const random = generator(seed);
      const accounts = await signUpAll(service);
      const { db } = service.database;
      sent = 0;
      /** Responses to requests without an idempotency key. */
      const ended: Ended[] = [];
      /** The number of these requests without a response. */
      let unanswered = 0;
      /** The responses to each request with an idempotency key, in order. */
      const keyed: { asked: Asked; accountId: string; answers: Ended[] }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await configure(random, round);
        const asked = Array.from({ length: AT_ONCE }, (_, schedule) => {
          const [path, bodyOf] = bodies[random(bodies.length)] ?? bodies[0];
          const account = accounts[random(accounts.length)] ?? accounts[0];
          if (account === undefined) throw new Error('There are no accounts.');
          const given = { model: `public-${round}`, stream: random(2) === 0 };
          return {
            ...{ name: crypto.randomUUID(), key: account.key, accountId: account.accountId, path },
            body: { ...bodyOf(`schedule-${schedule}`), ...given },
            leaveMs: random(4) === 0 ? random(200) : undefined,
            idempotencyKey: random(5) === 0 ? crypto.randomUUID() : undefined,
          };
        });
        await Promise.all(
          asked.map(async ({ accountId, ...one }) => {
            const answer = await ask(service, one);
            if (one.idempotencyKey !== undefined)
              keyed.push({ asked: one, accountId, answers: answer ? [answer] : [] });
            else if (answer === undefined) unanswered += 1;
            else ended.push(answer);
          }),
        );
      }
      await Promise.all(upstreams.map((upstream) => upstream.reset()));
      // Clients retry with the same idempotency key until they know the outcome.
      for (const { answers, asked } of keyed) {
        const { leaveMs: _left, ...patient } = asked;
        await eventually('the request with an idempotency key has an outcome', async () => {
          if (answers.some(({ status }) => status === 200)) return true;
          const answer = await ask(service, patient);
          if (answer !== undefined) answers.push(answer);
          return answer !== undefined && answer.status !== 409 && answer.status !== 503;
        });
      }
      const open = sql`select count(*)::int as open from requests where state = 'admitted'`;
      await eventually('every charge has ended', async () => {
        const [row] = await rowsOf<{ open: number }>(db, open);
        return row?.open === 0;
      });
      const rows = await rowsOf<Row>(db, sql`select id, account_id, state, status, units from requests`);
      const byId = new Map(rows.map((row) => [row.id, row]));

      t.ok(rows.length <= sent, `${rows.length} rows for ${sent} requests`);
      const final = rows.filter(({ state }) => state === 'final');
      t.ok(final.every(({ units }) => units === UNITS));

      for (const { id, status, text } of ended) {
        const row = byId.get(id);
        const what = `${status} ${text.slice(-300)} SEED=${seed}`;
        if (row === undefined) t.ok(status >= 400, `not charged, so rejected: ${what}`);
        else if (status === 200) t.match(row, { state: 'final' }, `delivered, so charged: ${what}`);
        else if (text !== '')
          t.equal(
            row.state === 'final',
            /"charged": ?true/.test(text),
            `an error reports whether it is charged: ${what}`,
          );
        if (status !== 200) t.notOk(isOutput(text), `an error has no output: ${what}`);
      }

      const charges = (name: string) => (ran.get(name) ?? []).filter((id) => byId.get(id)?.state === 'final');
      const twice = [...ran.keys()].filter((name) => charges(name).length > 1);
      t.same(twice.map(charges), [], 'at most one charge per request, even if it is retried');
      for (const { answers, asked } of keyed) {
        const what = `${answers.map(({ status }) => status)} ${answers.at(-1)?.text.slice(-300)} SEED=${seed}`;
        if (answers.some(({ status }) => status === 200))
          t.equal(charges(asked.name).length, 1, `delivered, so charged: ${what}`);
      }
      const all = new Set([...ran.values()].flat());
      t.same(
        rows.filter(({ id }) => !all.has(id)),
        [],
        'each charge belongs to a request',
      );

      for (const { cookie, accountId } of accounts) {
        const { used } = (await service.client.get('/usage', { cookie })).body;
        const charged = final.filter((row) => row.account_id === accountId).length * UNITS;
        t.equal(used.chat, charged, 'the counter equals the sum of the charges');
      }
      const answered = ended.filter(({ status }) => status === 200).length;
      const failed = ended.filter(({ status }) => status >= 500).length;
      const replays = keyed.flatMap(({ answers }) => answers).filter(({ isReplay }) => isReplay).length;
      t.comment(`${answered} succeeded, ${failed} failed, ${unanswered} disconnected, ${replays} replayed`);
      t.ok(answered >= ended.length / 10, 'at least a tenth succeeded');
      t.ok(failed >= ended.length / 10, 'at least a tenth failed');
      t.strictSame((await audit(db)).differences, [], 'the audit is clean');
    });
  },
);

/** Faults of a target before its first output. */
const deaths = [
  { fault: 'reset' },
  { fault: 'hang' },
  { fault: 'status', status: 500 },
  { fault: 'content-type' },
] as const;
const CLIENTS = 30;
const FIRST_COOLDOWN_MS = 5000;

/** The router's state of a target. */
function healthOf({ app }: TestService, name: string, model: string) {
  const upstream = app.engines.router?.health().find((one) => one.name === name);
  const state = upstream?.targets.find((target) => target.model === model)?.state;
  return { open: upstream?.open ?? 0, state };
}

/** Counts a target's attempts as they end. */
function watchAttempts(service: TestService, name: string, model: string) {
  const seen = { inARow: 0, failures: 0, failuresAfter: 0 };
  let cooled: { inARow: number; open: number; at: number } | undefined;
  const { upstreamAttempts } = service.metrics;
  const count = upstreamAttempts.inc.bind(upstreamAttempts);
  upstreamAttempts.inc = ((labels: { upstream: string; outcome: string }) => {
    count(labels);
    if (labels.upstream !== name) return;
    const isFailure = labels.outcome === 'failure';
    seen.inARow = isFailure ? seen.inARow + 1 : 0;
    if (!isFailure) return;
    seen.failures += 1;
    if (cooled) seen.failuresAfter += 1;
    const { open, state } = healthOf(service, name, model);
    if (state === 'coolingDown') cooled ??= { inARow: seen.inARow, open, at: performance.now() };
  }) as typeof upstreamAttempts.inc;
  return {
    seen,
    cooled: () => cooled,
    end: () => {
      upstreamAttempts.inc = count;
    },
  };
}

t.test('no request fails when a target dies under load', { timeout: 0 }, async (t) => {
  const file = several(upstreams, { timeouts: { firstByteMs: 1000 } });
  const [model] = file.models;
  const models = deaths.map(({ fault }) => ({
    ...{ ...model, name: fault },
    targets: model?.targets.map((target) => ({ ...target, model: `test-model-${fault}` })),
  }));
  const { env } = upstreamsFile({ ...file, models });
  onEachDatabase(t, { ...env, ...plansFile(t), STREAMS_PER_ACCOUNT: '1000' }, async (t, service) => {
    // Failures of a single account would cool the target down only for that account.
    const keys = await Promise.all(
      Array.from(
        { length: 12 },
        async () => (await service.client.createKey(await service.client.signUp())).key,
      ),
    );
    for (const death of deaths) {
      await Promise.all(upstreams.map((upstream) => upstream.reset()));
      const watched = watchAttempts(service, 'a', `test-model-${death.fault}`);
      const total = Math.ceil(UNDER_LOAD / deaths.length);
      let left = total;
      const failed: string[] = [];
      const worker = async () => {
        while (left > 0) {
          left -= 1;
          if (left === Math.floor(total * 0.75)) await ofKind.openai.configure(death);
          const body = { message: 'Hi', model: death.fault, stream: left % 2 === 0 };
          const name = crypto.randomUUID();
          const key = keys[left % keys.length] ?? '';
          const answer = await ask(service, { name, key, path: '/chat', body });
          const isAnswered = answer?.status === 200 && !answer.text.includes('"error"');
          if (!isAnswered) failed.push(`${answer?.status} ${answer?.text.slice(-600)}`);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, worker));
      watched.end();
      t.strictSame(failed, [], `${death.fault}: no request of ${total} failed`);
      const cooled = watched.cooled();
      if (cooled === undefined) {
        t.fail(`${death.fault}: the dead target stays in rotation`);
        continue;
      }
      t.ok(cooled.inARow <= 5, `${death.fault}: out of rotation after ${cooled.inARow} consecutive failures`);
      const { failures, failuresAfter } = watched.seen;
      // A probe may follow after 5 s, 15 s, 35 s, and so on.
      const probes = Math.floor(Math.log2(1 + (performance.now() - cooled.at) / FIRST_COOLDOWN_MS));
      t.ok(
        failuresAfter <= cooled.open + probes,
        `${death.fault}: ${failuresAfter} later failures, with ${cooled.open} requests in flight and ${probes} probes`,
      );
      t.comment(`${death.fault}: ${failures} attempts of ${total} requests failed`);
    }
  });
});

t.test('a target that recovers serves all requests again after one probe', async (t) => {
  const completion = {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  };
  const gate = new Gate();
  let isDead = true;
  const { calls, url } = await wireServer(t, async () => {
    if (isDead) return { status: 500, body: { error: { message: 'It failed.' } } };
    await gate.pass();
    return { body: completion };
  });
  const file = several([{ ...ofKind.openai, url }, ofKind.anthropic]);
  const [first, second] = file.models[0]?.targets ?? [];
  const models = [{ ...file.models[0], targets: [first, { ...second, order: 2 }] }];
  const { env } = upstreamsFile({ ...file, models });
  await ofKind.anthropic.reset();
  onEachDatabase(t, { ...env, ...plansFile(t) }, async (t, service) => {
    const { client } = service;
    const owners = [await client.signUp(), await client.signUp()];
    const keys = await Promise.all(owners.map(async (owner) => (await client.createKey(owner)).key));
    const request = (number: number) =>
      ask(service, {
        ...{ name: crypto.randomUUID(), key: keys[number % 2] ?? '' },
        ...{ path: '/chat', body: { message: 'Hi' } },
      });
    const state = () => healthOf(service, 'a', 'test-model').state;
    isDead = true;
    calls.length = 0;
    for (let number = 0; state() !== 'coolingDown'; number += 1)
      t.match(await request(number), { status: 200 }, 'the other target responds');
    t.equal(calls.length, 5, 'five attempts before the cooldown');

    isDead = false;
    gate.hold();
    await eventually('the cooldown ends', async () => state() === 'probing');
    let answered = 0;
    const requests = Array.from({ length: 20 }, async (_, number) => {
      t.match(await request(number), { status: 200 });
      answered += 1;
    });
    await eventually('all requests except the probe are complete', async () => answered === 19);
    t.equal(calls.length, 6, 'only one probe');
    gate.release();
    await Promise.all(requests);
    t.equal(state(), 'working');
    await Promise.all(Array.from({ length: 20 }, (_, number) => request(number)));
    t.equal(calls.length, 26, 'the target has the lowest order, so it serves all requests');
  });
});
