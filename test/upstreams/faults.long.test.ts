// `FAULT_ROUNDS=400 UNDER_LOAD=10000` sends ten thousand requests of each kind.
// Random faults of three targets, and clients that leave: one request, one answer or one error, one charge or one refund.
import { sql } from 'drizzle-orm';
import t from 'tap';
import { rowsOf } from '../../src/database/client.ts';
import { audit } from '../../src/store/audit.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { startUpstream, type Upstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { several, upstreamsFile } from '../support/upstreams-file.ts';

const upstreams = await Promise.all([startUpstream(), startUpstream(), startUpstream()]);
t.teardown(() => Promise.all(upstreams.map((upstream) => upstream.stop())));

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

/** Park and Miller's generator. */
function generator(start: number): (below: number) => number {
  let state = (start % 2_147_483_646) + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/** Faults that end a request before its first output. */
const deadly = [
  { fault: 'refuse' },
  { fault: 'reset' },
  { fault: 'hang' },
  { fault: 'status', status: 500 },
  { fault: 'bad-json' },
  { fault: 'error-body' },
  { fault: 'content-type' },
  { fault: 'cut', faultAfter: 0 },
] as const;
const faults = [
  ...[{}, {}, ...deadly],
  { fault: 'status', status: 429, retryAfter: '1' },
  { fault: 'status', status: 400 },
  { fault: 'cut', faultAfter: 3 },
  { fault: 'truncate', faultAfter: 2 },
  { fault: 'bad-event', faultAfter: 2 },
  { fault: 'stall', faultAfter: 1 },
  { chunks: 5, chunkIntervalMs: 10, splitBytes: 7 },
] as const;

/** The faults of one target in one round. Every fourth round fails, and every fourth is answered, whatever the seed is. */
function draw(random: (below: number) => number, round: number, target: number) {
  if (round % 4 === 0) return deadly[random(deadly.length)] ?? {};
  if (round % 4 === 2 && target === 0) return {};
  return faults[random(faults.length)] ?? {};
}

const messages = [{ role: 'user', content: 'Hi' }];
const bodies = [
  ['/chat', { message: 'Hi' }],
  ['/chat/completions', { messages }],
  ['/responses', { input: 'Hi' }],
  ['/messages', { messages, max_tokens: 100 }],
] as const;

type Ended = { id: string | null; status: number; text: string };

/** Posts a request, and leaves after `leaveMs` if that is set. Undefined if the client saw no status. */
async function ask(
  { client }: TestService,
  key: string,
  [path, body]: readonly [string, object],
  leaveMs: number | undefined,
): Promise<Ended | undefined> {
  const signal = leaveMs === undefined ? AbortSignal.timeout(30_000) : AbortSignal.timeout(leaveMs);
  try {
    const response = await fetch(`${client.origin}/api/v1${path}`, {
      ...{ method: 'POST', signal, body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    });
    const text = await response.text().catch((error) => {
      if (leaveMs === undefined) throw error;
      return '';
    });
    return { id: response.headers.get('x-request-id'), status: response.status, text };
  } catch (error) {
    if (leaveMs === undefined) throw error;
    return undefined;
  }
}

type Row = { id: string; state: string; status: number; units: number };

const isOutput = (text: string) => /"(text|content|delta|reply)": ?"[^"]/.test(text);

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 40);
const AT_ONCE = 25;
/** While one of three targets dies. */
const UNDER_LOAD = Number(process.env.UNDER_LOAD ?? 2000);

t.test(`${ROUNDS * AT_ONCE} requests under random faults`, { timeout: 0 }, async (t) => {
  const given = { timeouts: { connectMs: 200, firstByteMs: 150, idleMs: 150 } };
  const file = several(upstreams, given, { units: 3 });
  const [model] = file.models;
  // A model for each round: the faults of a round cool down its targets only.
  const models = Array.from({ length: ROUNDS }, (_, round) => ({
    ...{ ...model, name: `public-${round}` },
    targets: model?.targets.map((target) => ({ ...target, model: `test-model-${round}` })),
  }));
  const { env } = upstreamsFile({ ...file, models });
  onEachDatabase(t, { ...env, ...plansFile(t), STREAMS_PER_ACCOUNT: '1000' }, async (t, service) => {
    const random = generator(seed);
    const owner = await service.client.signUp();
    const { key } = await service.client.createKey(owner);
    const ended: Ended[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all(upstreams.map((upstream, target) => upstream.configure(draw(random, round, target))));
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => {
          const [path, body] = bodies[random(bodies.length)] ?? bodies[0];
          const leaveMs = random(4) === 0 ? random(200) : undefined;
          const given = { ...body, model: `public-${round}`, stream: random(2) === 0 };
          return ask(service, key, [path, given], leaveMs);
        }),
      );
      ended.push(...answers.filter((answer) => answer !== undefined));
    }
    const open = sql`select count(*)::int as open from requests where state = 'admitted'`;
    await eventually('every charge has ended', async () => {
      const [row] = await rowsOf<{ open: number }>(service.database.db, open);
      return row?.open === 0;
    });
    const rows = await rowsOf<Row>(
      service.database.db,
      sql`select id, state, status, units from requests where account_id = ${owner.accountId}`,
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    t.equal(byId.size, rows.length, 'one row per request');
    for (const { id, status, text } of ended) {
      const row = byId.get(id ?? '');
      const what = `${status} ${text.slice(-300)} SEED=${seed}`;
      if (row === undefined) t.ok(status >= 400, `no charge, no answer: ${what}`);
      else if (status === 200) t.match(row, { state: 'final', units: 3 }, `delivered, so charged: ${what}`);
      else
        t.equal(
          row.state === 'final',
          /"charged": ?true/.test(text),
          `an error says whether it is charged: ${what}`,
        );
      if (status !== 200) t.notOk(isOutput(text), `an error has no output: ${what}`);
    }
    const answered = ended.filter(({ status }) => status === 200).length;
    const failed = ended.filter(({ status }) => status >= 500).length;
    t.comment(`${answered} were answered, ${failed} failed`);
    t.ok(answered >= ended.length / 10, 'many were answered');
    t.ok(failed >= ended.length / 10, 'many failed');
    t.strictSame((await audit(service.database.db)).differences, [], 'the audit is clean');
  });
});

t.test('a target that dies under load costs clients nothing', async (t) => {
  const { env } = upstreamsFile(several(upstreams));
  onEachDatabase(t, { ...env, ...plansFile(t), STREAMS_PER_ACCOUNT: '1000' }, async (t, service) => {
    await Promise.all(upstreams.map((upstream) => upstream.reset()));
    const { key } = await service.client.createKey(await service.client.signUp());
    const [dying] = upstreams as [Upstream, Upstream, Upstream];
    let left = UNDER_LOAD;
    const failed: string[] = [];
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        if (left === UNDER_LOAD - 500) await dying.configure({ fault: 'reset' });
        const body = { message: 'Hi', stream: left % 2 === 0 };
        const answer = await ask(service, key, ['/chat', body], undefined);
        const status = answer && !answer.text.includes('"error"') ? answer.status : 0;
        if (status !== 200) failed.push(`${answer?.status} ${answer?.text.slice(-600)}`);
      }
    };
    await Promise.all(Array.from({ length: 30 }, worker));
    t.strictSame(failed, [], 'no request failed');
    const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    const [, failures = '0'] =
      /parley_upstream_attempts_total\{upstream="a",outcome="failure"\} (\d+)/.exec(metrics) ?? [];
    t.comment(`${failures} attempts failed`);
    t.ok(Number(failures) >= 5 && Number(failures) <= 60, `${failures} attempts at the dead target`);
    await dying.reset();
    await eventually('it is back within one probe', async () => {
      await ask(service, key, ['/chat', { message: 'Hi' }], undefined);
      return (await dying.calls()).chat > 0;
    });
  });
});
