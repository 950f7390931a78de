import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startUpstream } from '../../support/upstream/client.ts';
import {
  asking,
  chatEngine,
  collect,
  eventually,
  failure,
  fits,
  never,
  textOf,
} from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const chat = chatEngine(upstream.url);
const streamed = async (content: string, fields = {}) => {
  const chunks = await collect(chat.stream(asking(content, fields), never()));
  for (const chunk of chunks) fits('CompletionChunk', chunk);
  return chunks;
};

t.test(
  'a stream has a role, pieces of text, a finish_reason, and finally usage without choices',
  async (t) => {
    const chunks = await streamed('Hello there');
    t.equal(textOf(chunks), 'You said: Hello there');
    t.same(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '', refusal: null });
    t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'stop');
    const last = chunks.at(-1);
    t.same(last?.choices, []);
    t.match(last?.usage, { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 });
    t.equal(chunks.filter(({ usage }) => usage).length, 1);
    t.same(new Set(chunks.map(({ id, model, object }) => `${id} ${model} ${object}`)).size, 1);
    t.match(chunks[1], { service_tier: 'test' }, 'additional fields are kept');
  },
);

t.test("include_usage is added to the client's stream_options", async (t) => {
  await streamed('Hello', { stream_options: { include_obfuscation: false } });
  t.match((await upstream.onlyCall()).body, {
    stream: true,
    stream_options: { include_obfuscation: false, include_usage: true },
  });
});

t.test('chunks have usage: null if the client requests usage, and no usage field otherwise', async (t) => {
  const asked = await streamed('Hello', { stream_options: { include_usage: true } });
  t.ok(asked.slice(0, -1).every((chunk) => chunk.usage === null));
  const notAsked = await streamed('Hello');
  t.notOk(notAsked.slice(0, -1).some((chunk) => 'usage' in chunk));
});

t.test(
  'a stream that is rejected for stream_options is retried without them, and later streams omit them',
  async (t) => {
    await upstream.configure({ refuses: ['stream_options'] });
    const engine = chatEngine(upstream.url);
    for (const calls of [2, 3]) {
      const chunks = await collect(engine.stream(asking('Hello'), never()));
      t.same(
        chunks.at(-1)?.usage,
        { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 },
        'usage is estimated',
      );
      t.equal((await upstream.calls()).calls, calls);
    }
    const theirs = collect(chat.stream(asking('Hello', { stream_options: {} }), never()));
    t.equal((await failure(theirs)).code, 'invalidRequest', 'no retry if the client sent stream_options');
    t.equal((await upstream.calls()).calls, 4);
  },
);

t.test('an error that only quotes stream_options does not disable usage for later streams', async (t) => {
  const message = 'The prompt is not allowed: stream_options';
  await upstream.configure({ fault: 'status', status: 400, message, faultTimes: 2 });
  const engine = chatEngine(upstream.url);
  const quoted = collect(engine.stream(asking('stream_options'), never()));
  t.equal((await failure(quoted)).code, 'invalidRequest');
  await collect(engine.stream(asking('Hello'), never()));
  const { last } = await upstream.calls();
  t.match(last.at(-1)?.body, { stream_options: { include_usage: true } });
});

t.test('usage arrives once, in the last chunk, wherever the upstream sends it', async (t) => {
  for (const usage of ['never', 'zero', 'with-finish', 'asked'] as const) {
    await upstream.configure({ usage });
    const chunks = await streamed('Hello there');
    t.equal(chunks.filter((chunk) => chunk.usage).length, 1, usage);
    t.ok((chunks.at(-1)?.usage?.completion_tokens ?? 0) > 0, usage);
    t.same(chunks.at(-1)?.choices, [], usage);
  }
});

t.test('if the upstream omits them, a stream still has one id and an initial role per choice', async (t) => {
  await upstream.configure({ bare: true });
  const chunks = await streamed('Hello there', { n: 2 });
  t.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1);
  const firsts = [0, 1].map((index) => chunks.find(({ choices }) => choices[0]?.index === index));
  t.ok(firsts.every((chunk) => chunk?.choices[0]?.delta.role === 'assistant'));
  t.equal(
    chunks.filter(({ choices }) => choices[0]?.delta.role).length,
    2,
    'the role is only in the first chunk',
  );
});

t.test('multiple choices, log probabilities, and tools pass through', async (t) => {
  const chunks = await streamed('Hi', { n: 2, logprobs: true });
  t.equal(textOf(chunks, 1), 'You said: Hi');
  t.match(chunks.find(({ choices }) => choices[0]?.logprobs)?.choices[0]?.logprobs, {
    content: [{ logprob: -0.5 }],
  });

  const tools = [
    {
      type: 'function',
      function: { name: 'weather', parameters: { properties: { city: { type: 'string' } } } },
    },
  ];
  const calls = (await streamed('Weather?', { tools })).flatMap(
    ({ choices }) =>
      (choices[0]?.delta as { tool_calls?: { function: { name?: string; arguments: string } }[] })
        ?.tool_calls ?? [],
  );
  t.equal(calls[0]?.function.name, 'weather');
  t.same(JSON.parse(calls.map((call) => call.function.arguments).join('')), { city: 'Paris' });
});

t.test('tool calls without an index are numbered', async (t) => {
  const call = (id: string | undefined) =>
    JSON.stringify({
      choices: [{ delta: { tool_calls: [{ ...(id && { id }), function: { name: 'f', arguments: '{}' } }] } }],
    });
  await upstream.configure({
    events: [
      call('a'),
      call(undefined),
      call('b'),
      '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}',
      '[DONE]',
    ],
  });
  const indexes = (await streamed('x')).flatMap(({ choices }) =>
    ((choices[0]?.delta as { tool_calls?: { index: number }[] })?.tool_calls ?? []).map(({ index }) => index),
  );
  t.same(indexes, [0, 0, 1]);
});

t.test('events that are split at any byte, even within characters, are reassembled', async (t) => {
  for (const splitBytes of [1, 2, 3, 7]) {
    await upstream.configure({ splitBytes });
    t.equal(textOf(await streamed('Größe 🦜 日本語')), 'You said: Größe 🦜 日本語', `${splitBytes}`);
  }
});

t.test('chunks have the public name of a mapped model', async (t) => {
  const engine = chatEngine(upstream.url, {
    models: { kind: 'exact', models: [{ id: 'fast', upstream: 'org/tiny-1' }] },
  });
  const chunks = await collect(engine.stream({ ...asking('Hi'), model: 'fast' }, never()));
  t.ok(chunks.every(({ model }) => model === 'fast'));
  t.match((await upstream.onlyCall()).body, { model: 'org/tiny-1' });
});

t.test('a stream is complete with either [DONE] or a finish_reason for every choice', async (t) => {
  await upstream.configure({ fault: 'no-done' });
  t.equal(textOf(await streamed('Hello')), 'You said: Hello');
  await upstream.configure({ fault: 'no-finish' });
  t.equal(textOf(await streamed('Hello')), 'You said: Hello', '[DONE] is enough without a finish_reason');
});

t.test('a slow stream that stays within the idle timeout does not time out', async (t) => {
  await upstream.configure({ chunkIntervalMs: 60 });
  const engine = chatEngine(upstream.url, { idleTimeoutMs: 150 });
  t.equal(
    textOf(await collect(engine.stream(asking('one two three four'), never()))),
    'You said: one two three four',
  );
});

t.test('invalid UTF-8 becomes U+FFFD', async (t) => {
  await upstream.configure({ fault: 'invalid-utf8', faultAfter: 1 });
  t.match(textOf(await streamed('Hello')), /^You\ufffd\ufffd said/);
});

t.test('after [DONE], the connection is reused, even if the response ends later', async (t) => {
  for (const fault of ['none', 'late-end'] as const) {
    await upstream.configure({ fault });
    const engine = chatEngine(upstream.url);
    const before = (await upstream.calls()).connections;
    for (let round = 0; round < 10; round += 1) {
      await collect(engine.stream(asking('Hello'), never()));
      if (fault === 'late-end') await pause(60);
    }
    const { aborted, connections } = await upstream.calls();
    t.ok(connections - before <= 2, `${fault}: ${connections - before}`);
    t.equal(aborted, 0, fault);
  }
});

t.test('a response that does not end after [DONE] is aborted, without delaying the client', async (t) => {
  await upstream.configure({ fault: 'linger' });
  const engine = chatEngine(upstream.url, { idleTimeoutMs: 60_000 });
  await collect(engine.stream(asking('Hello'), never()));
  const endedAt = Date.now();
  await eventually('the upstream request is aborted', async () => (await upstream.calls()).aborted === 1);
  const { abortedAt } = await upstream.onlyCall();
  // The connection stays open for another second. The client does not wait for it.
  t.ok((abortedAt ?? 0) - endedAt > 500, `aborted ${(abortedAt ?? 0) - endedAt} ms after the stream ended`);
});
