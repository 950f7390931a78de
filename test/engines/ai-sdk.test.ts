// The AI SDK's providers against servers that follow the vendors' published formats.
import t from 'tap';
import { createAiSdkChat } from '../../src/engines/ai-sdk/chat.ts';
import type { CompletionInput } from '../../src/engines/types.ts';
import type { Body } from '../support/http.ts';
import { collect, eventually, failure, KEY, never, textOf } from '../support/upstream/engine.ts';
import {
  creatorOf,
  providerServer,
  type Said,
  usage,
  type VendorName,
  vendorNames,
  vendors,
} from '../support/upstream/providers.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const said: Said = { thought: 'A greeting.', texts: ['Hello ', 'there.'] };
const call = { name: 'get_weather', input: { city: 'Paris' } };
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

const asking = (fields: Record<string, unknown> = {}): CompletionInput => ({
  model: 'their-model',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ],
  ...fields,
});

const engineOf = (vendor: VendorName, url: string, idleTimeoutMs = 30_000) =>
  createAiSdkChat({
    ...{ url, apiKey: KEY, create: creatorOf(vendor) },
    ...{ connectTimeoutMs: 10_000, firstByteTimeoutMs: 30_000, idleTimeoutMs },
  });

/** The same settings in each vendor's request format. */
const settings: Record<VendorName, Body> = {
  google: {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    generationConfig: {
      ...{ temperature: 0.5, topP: 0.9, maxOutputTokens: 50, stopSequences: ['END'], seed: 7 },
      ...{ responseMimeType: 'application/json', responseSchema: { type: 'object' } },
    },
  },
  mistral: {
    ...{ model: 'their-model', temperature: 0.5, top_p: 0.9, max_tokens: 50, random_seed: 7 },
    response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ],
  },
  cohere: {
    ...{ model: 'their-model', temperature: 0.5, p: 0.9, max_tokens: 50, stop_sequences: ['END'], seed: 7 },
    response_format: { type: 'json_object', json_schema: { type: 'object' } },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
  },
};

for (const vendor of vendorNames)
  t.test(vendor, async (t) => {
    const server = await providerServer(t, vendor);
    const { state } = server;
    const engine = engineOf(vendor, server.url);
    const { keyHeader, keyValue } = vendors[vendor];
    const hasParts = vendor === 'google';
    const tokens = {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      ...(hasParts && {
        prompt_tokens_details: { cached_tokens: usage.cached },
        completion_tokens_details: { reasoning_tokens: usage.reasoning },
      }),
    };

    t.test('a completion and a stream carry reasoning, usage, and every setting', async (t) => {
      const schema = { name: 'answer', schema: { type: 'object', properties: { a: { type: 'string' } } } };
      const input = asking({
        ...{ temperature: 0.5, top_p: 0.9, max_completion_tokens: 50, stop: 'END', seed: 7 },
        response_format: { type: 'json_schema', json_schema: schema },
      });
      server.set(said);
      const completion = await engine.complete(input, never());
      t.match(completion, {
        object: 'chat.completion',
        model: 'their-model',
        choices: [
          {
            message: { role: 'assistant', content: 'Hello there.', reasoning_content: 'A greeting.' },
            finish_reason: 'stop',
          },
        ],
        usage: tokens,
      });
      const [{ body, headers, path } = { body: {}, headers: {}, path: '' }] = state.calls;
      t.match(body, settings[vendor]);
      t.equal(headers[keyHeader], keyValue(KEY));
      t.equal(headers['user-agent'], 'parley');
      t.ok(path.startsWith(vendors[vendor].base) && (vendor !== 'google' || path.includes('their-model')));

      const chunks = await collect(engine.stream(input, never()));
      t.equal(textOf(chunks), 'Hello there.');
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta as Body));
      t.equal(deltas.map(({ reasoning_content: text }) => text ?? '').join(''), 'A greeting.');
      t.equal(deltas[0]?.role, 'assistant');
      t.same(
        chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason: reason }) => reason ?? [])),
        ['stop'],
      );
      t.match(chunks.at(-1), { choices: [], usage: tokens });
    });

    t.test('the model calls a tool and receives its result', async (t) => {
      server.set({ call });
      const input = asking({ tools, tool_choice: 'auto' });
      const completion = await engine.complete(input, never());
      const [choice] = completion.choices as Body[];
      t.match(choice, {
        finish_reason: 'tool_calls',
        message: { content: null, tool_calls: [{ type: 'function', function: { name: 'get_weather' } }] },
      });
      const [made] = choice.message.tool_calls;
      t.same(JSON.parse(made.function.arguments), call.input);
      t.match(JSON.stringify(state.calls[0]?.body), '"The weather of a city."');

      const chunks = await collect(engine.stream(input, never()));
      const pieces = chunks.flatMap(({ choices }) =>
        choices.flatMap(({ delta }) => (delta as Body).tool_calls ?? []),
      ) as Body[];
      t.match(pieces[0], { index: 0, type: 'function', function: { name: 'get_weather' } });
      const written = pieces.map(({ function: { arguments: text = '' } }) => text).join('');
      t.same(JSON.parse(written), call.input);
      t.ok(chunks.some(({ choices }) => choices[0]?.finish_reason === 'tool_calls'));

      server.set({ texts: ['Sunny.'] });
      const messages = [
        ...input.messages,
        { role: 'assistant', content: null, tool_calls: [made] },
        { role: 'tool', tool_call_id: made.id, content: 'It is 21 degrees.' },
      ];
      const last = await engine.complete(asking({ messages, tools }), never());
      t.equal(last.choices[0]?.message.content, 'Sunny.');
      const sent = JSON.stringify(state.calls[0]?.body);
      t.match(sent, 'It is 21 degrees.');
      t.match(sent, 'Paris');
    });

    t.test('an image reaches the model', async (t) => {
      server.set({ texts: ['A pixel.'] });
      const url = `data:image/png;base64,${PNG}`;
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url } },
      ];
      await engine.complete(asking({ messages: [{ role: 'user', content }] }), never());
      t.match(JSON.stringify(state.calls[0]?.body), PNG);
    });

    t.test('errors have the same codes as for other upstreams, and reveal no details', async (t) => {
      const codes = [
        [400, 'invalidRequest'],
        [401, 'upstreamError'],
        [429, 'overloaded'],
        [500, 'upstreamError'],
      ] as const;
      for (const [status, code] of codes) {
        server.set({ status, headers: { 'retry-after': '7' } });
        for (const promise of [
          engine.complete(asking(), never()),
          collect(engine.stream(asking(), never())),
        ]) {
          const error = await failure(promise);
          t.equal(error.code, code, `${status}`);
          t.match(error.options.cause, { status, retryAfterSeconds: 7 });
        }
        t.equal(state.calls.length, 2, 'no request is retried');
      }
    });

    t.test(
      'a broken or endless stream and an unreachable server are upstreamError, and a silent one is upstreamTimeout',
      async (t) => {
        for (const fault of ['cut', 'truncate', 'bad-event', 'endless'] as const) {
          server.set({ fault });
          const error = await failure(collect(engine.stream(asking(), never())));
          t.equal(error.code, 'upstreamError', fault);
        }
        server.set({ fault: 'truncate' });
        t.equal((await failure(engine.complete(asking(), never()))).code, 'upstreamError');
        const gone = engineOf(vendor, 'http://127.0.0.1:9/v1');
        t.equal((await failure(gone.complete(asking(), never()))).code, 'upstreamError');
        t.equal((await failure(collect(gone.stream(asking(), never())))).code, 'upstreamError');
        server.set({ fault: 'hang' });
        const impatient = engineOf(vendor, server.url, 300);
        t.equal((await failure(collect(impatient.stream(asking(), never())))).code, 'upstreamTimeout');
      },
    );

    t.test('when a client disconnects, the upstream request is aborted within a second', async (t) => {
      for (const isStream of [true, false]) {
        server.set({ fault: 'hang' });
        const controller = new AbortController();
        const reason = new Error('The client left.');
        const chunks = engine.stream(asking(), controller.signal)[Symbol.asyncIterator]();
        const answer = isStream
          ? (async () => {
              while (!(await chunks.next()).done);
            })()
          : engine.complete(asking(), controller.signal).then(() => undefined);
        answer.catch(() => undefined);
        await eventually('the server receives the request', async () => state.calls.length === 1);
        const leftAt = Date.now();
        controller.abort(reason);
        await t.rejects(answer, reason);
        await eventually('the server sees the abort', async () => state.abortedAt !== undefined);
        t.ok((state.abortedAt ?? 0) - leftAt < 1000, 'aborted within a second');
      }
      server.set({ fault: 'hang' });
      const chunks = engine.stream(asking(), never())[Symbol.asyncIterator]();
      await chunks.next();
      await chunks.return?.();
      await eventually('a reader that stops aborts the request', async () => state.abortedAt !== undefined);
    });

    t.test('a field that the vendor does not support is rejected before any request is sent', async (t) => {
      server.set(said);
      const refused: [Record<string, unknown>, RegExp][] = [
        [{ functions: [{ name: 'f' }] }, /functions/],
        [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, /tools.0/],
        [{ messages: [{ role: 'function', name: 'f', content: 'x' }] }, /messages.0.role/],
        [{ messages: [{ role: 'tool', tool_call_id: 'none', content: 'x' }] }, /messages.0.tool_call_id/],
      ];
      for (const [fields, message] of refused) {
        const error = await failure(engine.complete(asking(fields), never()));
        t.equal(error.code, 'invalidRequest');
        t.match(error.message, message);
      }
      t.throws(() => engine.check?.({ model: 'm', n: 2 }), { code: 'invalidRequest' });
      t.equal(state.calls.length, 0);
    });
  });
