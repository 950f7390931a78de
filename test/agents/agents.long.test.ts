import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { plansFile, startTestService } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { type Agent, agents, runAgent, transcriptOf } from './agents.ts';
import { isolation, testIsolation } from './isolation.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const { client } = await startTestService(t, 'postgres', {
  CHAT_URL: upstream.url,
  CHAT_MODEL_ALIASES: `claude-*=${MODEL}`,
  ...plansFile(t, { chat: 1 }),
});
const network = await isolation(t, client.origin);
const results = new Map<string, Record<string, string>>(
  agents.map(({ name, version }) => [`${name} ${version}`, {}]),
);

/** Enough for a busy machine, where an agent takes several seconds to start. */
const TIMEOUT_MS = 300_000;

async function newAccount(plan = 'large') {
  const owner = await client.signUp();
  await client.put('/subscription', { plan, billing_period: 'monthly' }, { cookie: owner.cookie });
  const { key } = await client.createKey(owner, { scopes: ['chat', 'models'] });
  const { cookie } = owner;
  return {
    settings: { origin: client.origin, key, model: MODEL, isolation: network },
    used: async (): Promise<number> => (await client.get('/usage', { cookie })).body.used.chat,
    refusals: async (): Promise<number> => {
      // A session may send five requests a second.
      await sleep(250);
      const { body } = await client.get('/requests', { cookie });
      const rows: { kind: string; code: string; count: number }[] = body.data;
      return rows
        .filter(({ code, kind }) => kind === 'refusals' && code === 'quotaExceeded')
        .reduce((sum, { count }) => sum + count, 0);
    },
  };
}

type Chat = { messages: { role: string; content: unknown }[]; stream?: boolean };

const chats = async () =>
  (await upstream.calls()).last.filter(({ path }) => path.endsWith('/chat/completions'));
const bodies = async () => (await chats()).map(({ body }) => body as Chat);

function note({ name, version }: Agent, what: string, result: string): void {
  const row = results.get(`${name} ${version}`);
  if (row !== undefined) row[what] = result;
}

function testAgent(t: Test, agent: Agent) {
  t.test("the guide's transcript works, and every reply is streamed", async (t) => {
    await upstream.reset();
    const transcript = transcriptOf(agent);
    await upstream.configure({ calls: [], reply: transcript.printed.join('\n') });
    const { settings, used } = await newAccount();
    const run = runAgent(t, agent, settings, transcript);
    t.equal(await run.ended, 0, run.output());
    t.ok(run.output().includes(transcript.printed.join('\n')), run.output());
    const asked = (await bodies()).map(({ messages }) => JSON.stringify(messages));
    t.ok(asked.some((messages) => messages.includes('Say hello to Parley.')));
    t.ok(
      (await bodies()).every(({ stream }) => stream === true),
      'every reply is streamed',
    );
    t.equal(await used(), agent.requests);
    note(agent, 'hello', `${agent.requests} ${agent.requests === 1 ? 'unit' : 'units'}`);
    note(agent, 'stream', 'yes');
  });

  t.test('the agent edits a file with tools', async (t) => {
    await upstream.reset();
    const { settings, used } = await newAccount();
    const calls = agent.edit('notes.txt');
    const run = runAgent(t, agent, settings, 'Change the notes.');
    await upstream.configure({
      calls: agent.edit(join(run.folder, 'notes.txt')),
    });
    t.equal(await run.ended, 0, run.output());
    t.equal(readFileSync(join(run.folder, 'notes.txt'), 'utf8'), 'after\n', run.output());
    t.equal(await used(), agent.requests + calls.length);
    const [last] = (await bodies()).slice(-1);
    t.equal(last?.messages.filter(({ role }) => role === 'tool').length, calls.length);
    note(agent, 'tool', 'yes');
  });

  t.test(
    'stopping the agent aborts its upstream requests within a second, and nothing more is charged',
    async (t) => {
      await upstream.reset();
      await upstream.configure({ calls: [], chunks: 100_000, chunkIntervalMs: 20 });
      const { settings, used } = await newAccount();
      const run = runAgent(t, agent, settings, 'Count to a million.');
      const areUnderWay = async () => {
        // The upstream's list of calls is large, and the agent needs the CPU.
        await sleep(100);
        const open = await chats();
        return open.length === agent.requests && open.every(({ chunks }) => chunks > 5);
      };
      await eventually("the agent's replies are in progress", areUnderWay, TIMEOUT_MS);
      const stoppedAt = Date.now();
      run.kill(agent.stopSignal ?? 'SIGTERM');
      await eventually('all upstream requests are aborted', async () =>
        (await chats()).every(({ abortedAt }) => abortedAt !== null),
      );
      const ms = Math.max(...(await chats()).map(({ abortedAt }) => abortedAt ?? 0)) - stoppedAt;
      t.ok(ms < 1000, `after ${ms} ms`);
      await run.ended;
      t.equal((await chats()).length, agent.requests, 'the agent sends no further request');
      t.equal(await used(), agent.requests);
      note(agent, 'abort', `${ms} ms`);
    },
  );
}

/** Runs an agent with a spent quota. Only counts requests, so all agents can run in parallel. */
async function meetSpentQuota(t: Test, agent: Agent) {
  const { refusals, settings, used } = await newAccount('small');
  await client.post('/chat', { message: 'The only one today.' }, { key: settings.key });
  const run = runAgent(t, agent, settings, 'Say hello.');
  if (agent.endsWithoutQuota) {
    t.not(await run.ended, 0, `${agent.name} exits with an error`);
    t.match(run.output(), /quota/i, `${agent.name} mentions the quota`);
  }
  const expected = agent.endsWithoutQuota ? agent.refusals : agent.requests;
  await eventually(
    `${expected} requests of ${agent.name} are refused`,
    async () => (await refusals()) >= expected,
    TIMEOUT_MS,
  );
  if (!agent.endsWithoutQuota) t.equal(run.child.exitCode, null, `${agent.name} waits as Retry-After says`);
  const count = await refusals();
  t.ok(count <= agent.refusals, `${count} requests of ${agent.name} are refused`);
  t.equal(await used(), 1);
  note(agent, 'spent quota', `${count} refused${agent.endsWithoutQuota ? '' : ', then it waits'}`);
}

process.stderr.write(`network of the agents: ${network.description}\n`);
if (network.isNamespace)
  t.test('agents can connect only to the service', async (t) =>
    testIsolation(t, network, client.origin, upstream.url),
  );

for (const agent of agents) t.test(agent.name, async (t) => testAgent(t, agent));

t.test('Claude Code without a configured model gets the model of an alias', async (t) => {
  const claude = agents.find(({ name }) => name === 'Claude Code');
  if (claude === undefined) throw new Error('Claude Code is not in the list of agents.');
  await upstream.reset();
  const unnamed: Agent = {
    ...claude,
    configure(home, settings) {
      const { ANTHROPIC_MODEL: _, ANTHROPIC_SMALL_FAST_MODEL: __, ...env } = claude.configure(home, settings);
      return env;
    },
  };
  const { settings, used } = await newAccount();
  const run = runAgent(t, unnamed, settings, transcriptOf(claude));
  t.equal(await run.ended, 0, run.output());
  const models = (await chats()).map(({ body }) => (body as { model: string }).model);
  t.same(models, [MODEL]);
  t.equal(await used(), claude.requests);
});

t.test('the guide lists the units and the refusals of each agent', async (t) => {
  const guide = readFileSync(new URL('../../docs/guides/agent-units.md', import.meta.url), 'utf8');
  const cellsOf = ({ name }: Agent) =>
    guide.split('\n').flatMap((line) => (line.startsWith(`| ${name} |`) ? [line.split(' | ').slice(1)] : []));
  for (const agent of agents) {
    const [units, refused] = cellsOf(agent).map((cells) =>
      cells.map((cell) => Number(/\d+/.exec(cell)?.[0])),
    );
    t.same(units, [agent.requests, agent.requests + agent.edit('').length], `${agent.name}: units`);
    t.equal(refused?.at(-1), agent.refusals, `${agent.name}: refusals`);
  }
});

t.test('a spent quota: nothing is charged, and each agent sends only a few requests', async (t) => {
  await upstream.reset();
  await Promise.all(agents.map((agent) => meetSpentQuota(t, agent)));
  t.equal((await chats()).length, agents.length, 'no agent request reaches the upstream');
});

t.test('the table of results is complete', async (t) => {
  const columns = ['hello', 'stream', 'tool', 'abort', 'spent quota'];
  const lines = [
    ['agent', ...columns],
    ...[...results].map(([name, row]) => [name, ...columns.map((column) => row[column] ?? '–')]),
  ];
  for (const line of lines) process.stderr.write(`${line.join(' | ')}\n`);
  t.notOk(lines.flat().includes('–'));
});
