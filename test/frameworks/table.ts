/** Runs the same checks for each framework of an API, and prints a table of the results. */
import type { Test } from 'tap';
import { abortSeen, type Parley, rejection, withUpstream } from '../clients/parley.ts';
import { type Recorder, startRecorder } from '../snippets/recorder.ts';
import { onlyLoopback } from '../support/loopback-only.ts';
import type { DatabaseKind } from '../support/service.ts';
import type { Upstream } from '../support/upstream/client.ts';
import { type Framework, versionsOf, weather } from './frameworks.ts';

const columns = ['hello', 'stream', 'conversation', 'tool', 'errors', 'abort', 'spent quota'] as const;

const prompt = 'Tell me about keys.';
/** The reply of the test upstream to `prompt`. */
const reply = `You said: ${prompt}`;

type World = { parley: Parley; upstream: Upstream; recorder: Recorder };

const chatsOf = async (upstream: Upstream) =>
  (await upstream.calls()).last.filter(({ path }) => path.endsWith('/chat/completions'));

async function usedChat({ baseURL }: Parley, key: string): Promise<number> {
  const response = await fetch(`${baseURL}/usage`, { headers: { authorization: `Bearer ${key}` } });
  const { used } = (await response.json()) as { used: { chat: number } };
  return used.chat;
}

async function hello(t: Test, { ask }: Framework, { parley, upstream }: World): Promise<string> {
  const { text, usage } = await ask(parley, prompt);
  t.equal(text, reply);
  const [input, output] = usage;
  t.ok(input > 0, 'the framework reports input tokens');
  t.equal(output, reply.split(' ').length, 'the framework reports the number of output tokens');
  t.equal((await chatsOf(upstream)).length, 1, 'the upstream receives one request');
  return 'yes';
}

async function stream(t: Test, framework: Framework, { parley }: World): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of framework.stream(parley, prompt, new AbortController().signal))
    pieces.push(piece);
  t.equal(pieces.join(''), reply);
  t.ok(pieces.length > 1, `the reply arrives in ${pieces.length} pieces`);
  return 'yes';
}

async function conversation(t: Test, { followUps }: Framework, { parley, upstream }: World): Promise<string> {
  for (const [way, followUp] of Object.entries(followUps)) {
    await upstream.reset();
    t.equal(await followUp(parley, prompt, 'And scopes?'), 'You said: And scopes?', way);
    const [, second] = (await chatsOf(upstream)).map(({ body }) => body as { messages: unknown });
    const messages = [
      { role: 'user', content: prompt },
      { role: 'assistant', content: reply },
      { role: 'user', content: 'And scopes?' },
    ];
    t.match(second?.messages, messages, `${way}: the model gets the whole conversation`);
  }
  return Object.keys(followUps).join(', ');
}

async function tool(t: Test, { tools }: Framework, { parley, upstream }: World): Promise<string> {
  for (const [way, ask] of Object.entries(tools)) {
    await upstream.reset();
    const { cities, text } = await ask(parley);
    t.same(cities, ['Paris'], `${way}: the tool ran once`);
    t.equal(text, `The tool says: ${weather.result}`, `${way}: the reply uses its result`);
    const [first, second] = (await chatsOf(upstream)).map(({ body }) => body);
    t.match(first, { tools: [{ type: 'function', function: { name: weather.name } }] }, way);
    const call = { id: 'call_1', function: { name: weather.name, arguments: /^\{"city": ?"Paris"\}$/ } };
    const { messages } = second as { messages: object[] };
    t.match(
      messages.slice(-3),
      [
        { role: 'user' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: weather.result },
      ],
      `${way}: the model gets the whole conversation`,
    );
  }
  return Object.keys(tools).join(', ');
}

async function errors(t: Test, { ask, refusal, stream }: Framework, { parley }: World): Promise<string> {
  const cases: [Partial<Parley>, number, object][] = [
    [{ apiKey: parley.strangeKey }, 401, { code: 'invalidApiKey' }],
    [{ apiKey: parley.narrowKey }, 403, { code: 'insufficientScope' }],
    [{ model: 'no-such-model' }, 404, { code: 'notFound', param: 'model' }],
  ];
  for (const [change, status, error] of cases) {
    const connection = { ...parley, ...change };
    const refused = await rejection(ask(connection, prompt));
    t.match(refusal(refused.error), { status, error });
    const streaming = (async () => {
      for await (const _ of stream(connection, prompt, new AbortController().signal));
    })();
    t.match(refusal((await rejection(streaming)).error), { status, error }, 'streamed');
  }
  return cases.map(([, status]) => status).join(', ');
}

async function abort(t: Test, framework: Framework, { parley, upstream }: World): Promise<string> {
  await upstream.configure({ chunks: 10_000, chunkIntervalMs: 20 });
  const before = await usedChat(parley, parley.apiKey);
  const controller = new AbortController();
  let pieces = 0;
  let since = 0;
  try {
    for await (const _ of framework.stream(parley, prompt, controller.signal)) {
      if (++pieces !== 5) continue;
      since = Date.now();
      controller.abort();
    }
  } catch (error) {
    if (since === 0) throw error;
  }
  const ms = await abortSeen(upstream, since);
  t.ok(ms < 1000, `after ${ms} ms`);
  t.equal(await usedChat(parley, parley.apiKey), before + 1, 'the request is charged once');
  return `${ms} ms`;
}

async function spent(t: Test, framework: Framework, { parley, recorder, upstream }: World): Promise<string> {
  const { answers, origin } = recorder;
  const before = await usedChat(parley, parley.spentKey);
  answers.length = 0;
  const baseURL = parley.baseURL.replace(new URL(parley.baseURL).origin, origin);
  const asked = framework.ask({ ...parley, baseURL, apiKey: parley.spentKey }, prompt);
  const { error, ms } = await rejection(asked);
  t.match(framework.refusal(error), { status: 429, error: { code: 'quotaExceeded' } });
  t.equal(answers.length, framework.requestsWhenSpent, 'the number of requests');
  t.ok(
    answers.every(({ headers, status }) => status === 429 && headers['x-should-retry'] === 'false'),
    'each response is a 429 with x-should-retry: false',
  );
  t.equal(await usedChat(parley, parley.spentKey), before, 'nothing is charged');
  t.equal((await chatsOf(upstream)).length, 0, 'no request reaches the upstream');
  return `${answers.length} in ${(ms / 1000).toFixed(1)} s`;
}

const facts = { hello, stream, conversation, tool, errors, abort, 'spent quota': spent };

/**
 * Tests each framework, and prints the table to standard error.
 *
 * @param surface - the name of the API, for the table
 * @param kind - the database of the service
 */
export function testFrameworks(
  t: Test,
  surface: string,
  frameworks: readonly Framework[],
  kind: DatabaseKind,
): void {
  const results = new Map<Framework, Map<string, string>>();
  t.test(surface, async (t) => {
    const tried = onlyLoopback(t);
    const { parley, upstream } = await withUpstream(t, kind);
    const recorder = await startRecorder(t, new URL(parley.baseURL).origin);
    for (const framework of frameworks) {
      const row = new Map<string, string>();
      results.set(framework, row);
      await t.test(`${framework.name}: ${versionsOf(framework)}`, async (t) => {
        for (const column of columns)
          await t.test(column, async (t) => {
            row.set(column, 'FAILED');
            const result = await facts[column](t, framework, { parley, upstream, recorder });
            if (t.passing()) row.set(column, result);
          });
      });
    }
    t.same(tried, [], 'nothing connects to other hosts');
  });
  t.test(`the table of ${surface} is complete`, async (t) => {
    t.same([...results.keys()], frameworks);
    for (const [{ name }, row] of results)
      for (const column of columns) t.not(row.get(column) ?? 'FAILED', 'FAILED', `${name}: ${column}`);
  });
  t.teardown(() => {
    const rows = [...results].map(([framework, row]) => [
      `${framework.name} (${versionsOf(framework)})`,
      ...columns.map((column) => row.get(column) ?? 'not run'),
    ]);
    const lines = [[surface, ...columns], ['', ...columns].map(() => '---'), ...rows];
    console.error(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
  });
}
