// Citations, annotations, log probabilities, and stop reasons reach clients of the model's API unchanged, streamed or
// not. Clients of other APIs receive the parts that their API can express. Contract sections 14 and 15.
import t, { type Test } from 'tap';
import { type DialectKind, dialectKinds } from '../../src/upstreams-file/schema.ts';
import { eventsOf } from '../support/event-reader.ts';
import type { Body, Client } from '../support/http.ts';
import { onEachDatabase } from '../support/service.ts';
import {
  anthropicMessage,
  chunkText,
  completionChunks,
  eventText,
  openaiResponse,
  type WireAnswer,
  type WireCall,
  wireServer,
} from '../support/upstream/wire.ts';
import { upstreamsFile } from '../support/upstreams-file.ts';

const cited = (start: number, text: string) => ({
  ...{ type: 'char_location', cited_text: text, document_index: 0, document_title: 'Weather' },
  ...{ start_char_index: start, end_char_index: start + text.length },
});
const texts = [
  { type: 'text', text: 'It says: ' },
  { type: 'text', text: 'it rains', citations: [cited(0, 'Rain.'), cited(9, 'Rain again.')] },
  { type: 'text', text: ' today.' },
];
const cacheCreation = { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 5 };
const messageUsage = { ...anthropicMessage.usage, cache_creation: cacheCreation };

/** A message with this stop reason, whole and as a stream. */
function anthropicAnswer(end: object) {
  const events = [
    {
      type: 'message_start',
      message: { ...anthropicMessage, ...{ content: [], stop_reason: null }, usage: messageUsage },
    },
    ...texts.flatMap(({ citations = [], text }, index) => [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      // The first citation may precede the text of its block.
      ...citations.slice(0, 1).map((citation) => ({
        ...{ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } },
      })),
      ...[text.slice(0, 3), text.slice(3)].map((piece) => ({
        ...{ type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece } },
      })),
      ...citations.slice(1).map((citation) => ({
        ...{ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } },
      })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_sequence: null, ...end }, usage: { output_tokens: 89 } },
    { type: 'message_stop' },
  ];
  return {
    whole: { ...anthropicMessage, content: texts, ...end, usage: messageUsage },
    stream: eventText(events),
  };
}

const token = (text: string) => ({
  ...{ token: text, logprob: -0.5, bytes: [...Buffer.from(text)] },
  top_logprobs: [{ token: text, logprob: -0.5, bytes: [...Buffer.from(text)] }],
});
const link = (start: number, end: number) => ({
  ...{ type: 'url_citation', start_index: start, end_index: end },
  ...{ url: 'https://example.com/weather', title: 'Weather' },
});
const file = { type: 'file_citation', index: 5, file_id: 'file_1', filename: 'a.txt' };
const outputText = (text: string, annotations: object[]) => ({
  ...{ type: 'output_text', text, annotations },
  logprobs: [text.slice(0, 3), text.slice(3)].map(token),
});
const rains = outputText('It rains.', [link(3, 8)]);
const coat = outputText('Bring a coat.', [link(8, 12), file]);
const output = [rains, coat].map((part) => ({ type: 'message', role: 'assistant', content: [part] }));
const response = { ...openaiResponse, output };
const responseEvents = eventText([
  { type: 'response.created', response: { ...openaiResponse, ...{ status: 'in_progress', output: [] } } },
  ...output.flatMap((item, index) => [
    { type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } },
    ...item.content.flatMap(({ annotations, logprobs }) => [
      ...logprobs.map((one) => ({
        ...{ type: 'response.output_text.delta', output_index: index, content_index: 0 },
        ...{ delta: one.token, logprobs: [one] },
      })),
      // The last annotation arrives only with the complete item.
      ...annotations.slice(0, 1).map((annotation, place) => ({
        ...{ type: 'response.output_text.annotation.added', output_index: index, content_index: 0 },
        ...{ annotation_index: place, annotation },
      })),
    ]),
    { type: 'response.output_item.done', output_index: index, item },
  ]),
  { type: 'response.completed', response },
]);

/** The citation in chat completions: positions count from the start of the content. */
const inChat = (start: number, end: number) => ({
  type: 'url_citation',
  url_citation: { ...{ start_index: start, end_index: end }, ...{ url: link(0, 0).url, title: 'Weather' } },
});
const content = `${rains.text}${coat.text}`;
const chatAnnotations = [inChat(3, 8), inChat(17, 21), file];
const tokens = [...rains.logprobs, ...coat.logprobs];
const completion = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_741_569_952, model: 'gpt-5' },
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, annotations: chatAnnotations },
      ...{ logprobs: { content: tokens, refusal: null }, finish_reason: 'stop' },
    },
  ],
  usage: { prompt_tokens: 472, completion_tokens: 89, total_tokens: 561 },
};
const [, , , piece] = completionChunks as [unknown, unknown, unknown, Body];
const chunk = (delta: object, rest: object = {}) => ({
  ...piece,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...rest }],
});
const chunks = chunkText([
  ...tokens.map((one) => chunk({ content: one.token }, { logprobs: { content: [one], refusal: null } })),
  chunk({ annotations: chatAnnotations }),
  chunk({}, { finish_reason: 'stop' }),
  { ...piece, choices: [], usage: completion.usage },
]);

const paused = anthropicAnswer({ stop_reason: 'pause_turn' });
const details = { type: 'refusal', category: 'bio', explanation: 'This could do harm.' };
const refused = anthropicAnswer({ stop_reason: 'refusal', stop_details: details });
const answers = {
  anthropic: paused,
  refusing: refused,
  full: anthropicAnswer({ stop_reason: 'model_context_window_exceeded' }),
  'openai-responses': { whole: response, stream: responseEvents },
  openai: { whole: completion, stream: chunks },
} satisfies Record<DialectKind, unknown> & Record<string, unknown>;
type Name = keyof typeof answers;
const names = Object.keys(answers) as Name[];

async function startModels(t: Test) {
  const calls: Record<string, WireCall[]> = {};
  const urls: Record<string, string> = {};
  for (const name of names) {
    const answer = ({ body }: WireCall): WireAnswer => ({
      body: body.stream ? answers[name].stream : answers[name].whole,
    });
    const server = await wireServer(t, answer);
    calls[name] = server.calls;
    urls[name] = server.url;
  }
  const kindOf = (name: Name) => dialectKinds.find((kind) => kind === name) ?? 'anthropic';
  const { env } = upstreamsFile({
    upstreams: names.map((name) => ({ name, kind: kindOf(name), url: urls[name] })),
    models: names.map((name) => ({ name, targets: [{ upstream: name, model: 'theirs' }] })),
  });
  return { env, lastBody: (name: Name): Body => calls[name]?.at(-1)?.body };
}

/** Assembles a message from a stream as a client does: each delta extends the block that it names. */
function assembledMessage(text: string): Body {
  const content: Body[] = [];
  let end: Body = {};
  for (const { data } of eventsOf(text)) {
    if (data.type === 'content_block_start') content[data.index] = data.content_block;
    if (data.type === 'message_delta') end = { ...data.delta, usage: data.usage };
    if (data.type !== 'content_block_delta') continue;
    const block = content[data.index];
    if (data.delta.type === 'text_delta') block.text += data.delta.text;
    else block.citations = [...(block.citations ?? []), data.delta.citation];
  }
  return { content, ...end };
}

async function bothWays(client: Client, key: string, body: object, read: (text: string) => Body) {
  const whole = await client.post('/messages', body, { key });
  const stream = await client.post('/messages', { ...body, stream: true }, { key });
  return [whole.body, read(stream.text)] as const;
}

t.test(
  'Messages API clients receive text, citations, stop reasons, and cached tokens from Anthropic models unchanged',
  async (t) => {
    const { env } = await startModels(t);
    onEachDatabase(t, env, async (t, { client }) => {
      const { key } = await client.createKey(await client.signUp());
      const asking = (model: Name) => ({
        model,
        max_tokens: 99,
        messages: [{ role: 'user', content: 'Go' }],
      });
      const expected: [Name, object][] = [
        ['anthropic', { stop_reason: 'pause_turn', stop_details: null }],
        ['refusing', { stop_reason: 'refusal', stop_details: details }],
        ['full', { stop_reason: 'model_context_window_exceeded', stop_details: null }],
      ];
      for (const [model, end] of expected)
        for (const message of await bothWays(client, key, asking(model), assembledMessage)) {
          t.same(message.content, texts, model);
          t.match(message, { ...end, stop_sequence: null, usage: { cache_creation: cacheCreation } });
        }
    });
  },
);

t.test("Anthropic's text blocks become one text on other surfaces", async (t) => {
  const { env } = await startModels(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const body = { model: 'anthropic', input: 'Go', store: false };
    const text = texts.map((one) => one.text).join('');
    const { body: whole } = await client.post('/responses', body, { key });
    const stream = await client.post('/responses', { ...body, stream: true }, { key });
    for (const { output } of [whole, eventsOf(stream.text).at(-1)?.data.response]) {
      t.equal(output.length, 1);
      t.same(output[0].content, [{ type: 'output_text', text, annotations: [], logprobs: [] }]);
    }
    const messages = [{ role: 'user', content: 'Go' }];
    const chat = await client.post('/chat/completions', { model: 'anthropic', messages }, { key });
    t.match(chat.body.choices[0], { message: { content: text }, finish_reason: 'stop' });
  });
});

const wanted = { include: ['message.output_text.logprobs'], top_logprobs: 1 };

t.test('Responses API clients receive annotations and log probabilities from OpenAI models', async (t) => {
  const { env, lastBody } = await startModels(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const parts = (output: Body[]) => output.map(({ content: [only] }) => only);
    const one = {
      ...{ type: 'output_text', text: content, logprobs: tokens },
      annotations: [link(3, 8), link(17, 21), file],
    };
    for (const [model, expected] of [
      ['openai-responses', [rains, coat]],
      ['openai', [one]],
    ] as const) {
      const body = { model, input: 'Go', store: false, ...wanted };
      const { body: whole } = await client.post('/responses', body, { key });
      t.same(parts(whole.output), expected, `${model}, not streamed`);
      t.match(
        lastBody(model),
        model === 'openai' ? { logprobs: true, top_logprobs: 1 } : { ...wanted, store: false },
      );

      const stream = await client.post('/responses', { ...body, stream: true }, { key });
      const events = eventsOf(stream.text).map(({ data }) => data);
      t.same(parts(events.at(-1).response.output), expected, `${model}, streamed`);
      const of = (type: string) => events.filter((event) => event.type === `response.output_text.${type}`);
      t.same(
        of('delta').flatMap(({ logprobs }) => logprobs),
        tokens,
      );
      t.same(
        of('annotation.added').map(({ annotation, annotation_index: place }) => [place, annotation]),
        expected.flatMap(({ annotations }) => annotations.map((note, place) => [place, note])),
      );
    }
  });
});

t.test('chat completions contain annotations and log probabilities for the whole message', async (t) => {
  const { env, lastBody } = await startModels(t);
  onEachDatabase(t, env, async (t, { client }) => {
    const { key } = await client.createKey(await client.signUp());
    const messages = [{ role: 'user', content: 'Go' }];
    const body = { model: 'openai-responses', messages, logprobs: true, top_logprobs: 1 };
    const { body: whole } = await client.post('/chat/completions', body, { key });
    t.match(lastBody('openai-responses'), wanted);
    t.match(whole.choices[0], {
      message: { content, annotations: chatAnnotations },
      logprobs: { content: tokens },
    });
    const stream = await client.post('/chat/completions', { ...body, stream: true }, { key });
    const choices: Body[] = eventsOf(stream.text).flatMap(({ data }) => data.choices ?? []);
    t.equal(choices.map(({ delta }) => delta.content ?? '').join(''), content);
    t.same(
      choices.flatMap(({ logprobs }) => logprobs?.content ?? []),
      tokens,
    );
    t.same(
      choices.flatMap(({ delta }) => delta.annotations ?? []),
      chatAnnotations,
    );
  });
});
