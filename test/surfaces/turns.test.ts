// The order of reasoning, text, and calls in replies, and when the next request sends them back. Contract section 14.
import t from 'tap';
import { eventsOf } from '../support/event-reader.ts';
import type { Body } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import { startVendors, type Vendor, vendorKinds } from '../support/upstream/kinds.ts';
import { anthropicMessage, eventText, openaiEvents, openaiResponse } from '../support/upstream/wire.ts';

const user = (content: string) => ({ role: 'user', content });
const says = (text: string) => ({ role: 'assistant', content: [{ type: 'output_text', text }] });
const thinks = (text: string) => ({
  ...{ type: 'reasoning', summary: [{ type: 'summary_text', text }] },
  encrypted_content: `anthropic-claude-v1:signature:seal of ${text}`,
});
const calls = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const results = (...ids: string[]) =>
  ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'x' }));

const thought = (text: string) => ({ type: 'thinking', thinking: text, signature: `seal of ${text}` });
const text = (value: string) => ({ type: 'text', text: value });
const called = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const turn = (role: string, ...content: object[]) => ({ role, content });
const given = (...ids: string[]) =>
  turn('user', ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })));

const cases: Record<string, [items: object[], turns: object[]]> = {
  'reasoning after a message belongs to the call that follows it': [
    [user('Go'), says('A'), thinks('R'), calls('c1'), ...results('c1'), says('B'), user('And?')],
    [
      turn('user', text('Go')),
      turn('assistant', text('A'), thought('R'), called('c1')),
      given('c1'),
      turn('assistant', text('B')),
      turn('user', text('And?')),
    ],
  ],
  'reasoning between two calls belongs to the same turn': [
    [user('Go'), thinks('R'), calls('c1'), thinks('S'), calls('c2'), ...results('c1', 'c2'), says('B')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), called('c1'), thought('S'), called('c2')),
      given('c1', 'c2'),
      turn('assistant', text('B')),
    ],
  ],
  'reasoning after the results belongs to the next turn': [
    [user('Go'), thinks('R'), calls('c1'), ...results('c1'), thinks('S'), says('B'), user('And?')],
    [
      turn('user', text('Go')),
      turn('assistant', thought('R'), called('c1')),
      given('c1'),
      turn('assistant', thought('S'), text('B')),
      turn('user', text('And?')),
    ],
  ],
  'text after a call belongs to the same turn': [
    [user('Go'), says('A'), calls('c1'), thinks('R'), says('B'), calls('c2'), ...results('c1', 'c2')],
    [
      turn('user', text('Go')),
      turn('assistant', text('A'), called('c1'), thought('R'), text('B'), called('c2')),
      given('c1', 'c2'),
    ],
  ],
};

t.test('reasoning, text, and calls stay in their turn', async (t) => {
  const { calls: sent, env } = await startVendors(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const [title, [input, turns]] of Object.entries(cases)) {
      const answer = await client.post('/responses', { model: 'anthropic', input, store: false }, { key });
      t.equal(answer.status, 200, answer.text);
      t.same((sent.anthropic.at(-1) as { body: Body }).body.messages, turns, title);
    }
  });
});

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
const inputImage = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` };

t.test('an image in a tool result stays in that result', async (t) => {
  const { calls: sent, env } = await startVendors(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const input = [
      user('Look'),
      calls('c1'),
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [{ type: 'input_text', text: 'x' }, inputImage],
      },
      user('And?'),
    ];
    await client.post('/responses', { model: 'anthropic', input, store: false }, { key });
    t.same((sent.anthropic.at(-1) as { body: Body }).body.messages.at(-1).content, [
      { type: 'tool_result', tool_use_id: 'c1', content: [text('x'), image] },
      text('And?'),
    ]);

    const messages = [
      user('Look'),
      turn('assistant', called('c1')),
      turn('user', { type: 'tool_result', tool_use_id: 'c1', is_error: true, content: [text('x'), image] }),
    ];
    await client.post('/messages', { model: 'openai-responses', max_tokens: 99, messages }, { key });
    t.same((sent['openai-responses'].at(-1) as { body: Body }).body.input.at(-1), {
      type: 'function_call_output',
      call_id: 'c1',
      output: [{ type: 'input_text', text: 'Error: x' }, inputImage],
    });
  });
});

/** Each vendor's reply, which the next request must send back unchanged. */
const interleaved = {
  anthropic: [thought('R'), text('A'), called('c1'), thought('S'), text('B'), called('c2')],
  'openai-responses': [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'R' }], encrypted_content: 'seal of R' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [] }] },
    calls('c1'),
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'S' }], encrypted_content: 'seal of S' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'B', annotations: [] }] },
    calls('c2'),
  ],
};
const wholes = {
  anthropic: { ...anthropicMessage, content: interleaved.anthropic },
  'openai-responses': { ...openaiResponse, output: interleaved['openai-responses'] },
};
const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }];
const summary = { reasoning: { summary: 'auto' }, store: false, tools };

/** The model's turn in the last request. */
const replayed: Record<Vendor, (body: Body) => unknown> = {
  anthropic: (body) => body.messages[1].content,
  'openai-responses': (body) =>
    body.input.slice(1, -2).map(({ content, ...item }: Body) => ({
      ...item,
      ...(content && { content: content.map(({ logprobs: _, ...part }: Body) => part) }),
    })),
};

t.test('a reply keeps its order on each surface, and returns to the upstream unchanged', async (t) => {
  const { calls: sent, env } = await startVendors(t, (kind) => ({ body: wholes[kind] }));
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    for (const model of vendorKinds) {
      const replay = () => replayed[model]((sent[model].at(-1) as { body: Body }).body);
      const ask = (input: object[]) => client.post('/responses', { model, input, ...summary }, { key });
      const { body: response, status, text: said } = await ask([user('Go')]);
      t.equal(status, 200, said);
      t.equal((await ask([user('Go'), ...response.output, ...results('c1', 'c2')])).status, 200);
      t.same(replay(), interleaved[model], `${model}: through /responses`);

      const talk = (messages: object[]) =>
        client.post(
          '/messages',
          { model, max_tokens: 99, messages, tools: [{ name: 'f', input_schema: { type: 'object' } }] },
          { key },
        );
      const { body: message } = await talk([user('Go')]);
      t.same(
        message.content.map((block: Body) => block.type),
        ['thinking', 'text', 'tool_use', 'thinking', 'text', 'tool_use'],
      );
      const next = [user('Go'), { role: 'assistant', content: message.content }, given('c1', 'c2')];
      t.equal((await talk(next)).status, 200);
      t.same(replay(), interleaved[model], `${model}: through /messages`);
    }
  });
});

const phased = (phase: string, said: string) => ({
  ...{ type: 'message', role: 'assistant', phase },
  content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }],
});
const phases = [phased('commentary', 'I look.'), phased('final_answer', 'It rains.')];
const phasedResponse = { ...openaiResponse, output: phases };
const phasedStream = eventText([
  ...openaiEvents.slice(0, 1),
  ...phases.flatMap((item, index) => [
    { type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } },
    ...['I', 't', '.'].map((delta) => ({
      ...{ type: 'response.output_text.delta', output_index: index, content_index: 0, delta },
    })),
    { type: 'response.output_item.done', output_index: index, item },
  ]),
  { type: 'response.completed', response: phasedResponse },
]);

t.test('messages keep their phase in responses, in streams, and when sent back', async (t) => {
  const model = 'openai-responses';
  const { calls: sent, env } = await startVendors(t, (_kind, { body }) => ({
    body: body.stream ? phasedStream : phasedResponse,
  }));
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const body = { model, input: 'Go', store: false };
    const { output } = (await client.post('/responses', body, { key })).body;
    const told = (items: Body[]) => items.map(({ content, phase }) => [phase, content[0].text]);
    t.same(told(output), [
      ['commentary', 'I look.'],
      ['final_answer', 'It rains.'],
    ]);

    const stream = await client.post('/responses', { ...body, stream: true }, { key });
    const events: Body[] = eventsOf(stream.text).map(({ data }) => data);
    const added = events.filter(({ type }) => type === 'response.output_item.added');
    t.same(
      added.map(({ item }) => item.phase),
      ['commentary', 'final_answer'],
    );
    t.same(told(events.at(-1)?.response.output), [
      ['commentary', 'It.'],
      ['final_answer', 'It.'],
    ]);

    await client.post('/responses', { ...body, input: [user('Go'), ...output, user('And?')] }, { key });
    t.same((sent[model].at(-1) as { body: Body }).body.input.slice(1, -1), phases);
  });
});
