// Random conversations, said in the language of each surface, reach the upstream as the same messages, and random answers
// of the upstream are the same on each surface, whole and streamed.
//
// What cannot be said, and is therefore not generated:
// - Chat completions: images in the result of a tool, and whether a tool failed.
// - Responses: a tool call that precedes the text of its turn.
// - Messages: arguments of a tool call that are not a JSON object, and a refusal apart from text.
import fc from 'fast-check';
import t from 'tap';
import type { CompletionChunk, CompletionResult } from '../../src/engines/types.ts';
import { AnswerBlocks, blocksOf } from '../../src/surfaces/answer-blocks.ts';
import { wholeMessage } from '../../src/surfaces/messages-answer.ts';
import { messagesWriter } from '../../src/surfaces/messages-events.ts';
import { messagesInput } from '../../src/surfaces/messages-request.ts';
import { endedResponse } from '../../src/surfaces/response-answer.ts';
import { responseWriter } from '../../src/surfaces/response-events.ts';
import { completionInput, inputItems, type ResponseBody } from '../../src/surfaces/response-request.ts';
import { ResponseTools } from '../../src/surfaces/response-tools.ts';
import type { SurfaceWriter } from '../../src/surfaces/surface-script.ts';
import { eventsOf, type ServerEvent } from '../support/event-reader.ts';
import type { Body } from '../support/http.ts';

const RUNS = { numRuns: 300 };
const MODEL = 'test-model';

type Call = { id: string; name: string; args: Record<string, unknown>; result: string };
type Turn = {
  text: string;
  image: string | undefined;
  reasoning: string;
  answer: string;
  calls: Call[];
};
type Talk = { system: string; turns: Turn[] };

const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.isWellFormed());
const maybe = fc.oneof(fc.constant(''), words);
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const args = fc.dictionary(fc.constantFrom('city', 'days', 'deep'), fc.jsonValue({ maxDepth: 2 }));
const name = fc.constantFrom('weather', 'map', 'search_web');

const callsArbitrary = fc
  .array(fc.record({ name, args, result: words }), { maxLength: 3 })
  .map((calls) => calls.map((call, index) => ({ ...call, id: `call_${index}` })));

const turn: fc.Arbitrary<Turn> = fc.record({
  text: words,
  image: fc.option(base64, { nil: undefined }),
  reasoning: maybe,
  answer: words,
  calls: callsArbitrary,
});
const talk: fc.Arbitrary<Talk> = fc.record({
  system: maybe,
  turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
});

const imageUrl = (data: string) => `data:image/png;base64,${data}`;

/** As a client of chat completions says it. */
const inCompletions = ({ system, turns }: Talk): object[] => [
  ...(system === '' ? [] : [{ role: 'system', content: system }]),
  ...turns.flatMap(({ answer, calls, image, reasoning, text }) => [
    {
      role: 'user',
      content:
        image === undefined
          ? text
          : [
              { type: 'text', text },
              { type: 'image_url', image_url: { url: imageUrl(image) } },
            ],
    },
    {
      role: 'assistant',
      content: answer,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        })),
      }),
    },
    ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ]),
];

/** As a client of the Responses API says it. */
const inResponses = ({ system, turns }: Talk): ResponseBody => ({
  ...(system !== '' && { instructions: system }),
  input: turns.flatMap(({ answer, calls, image, reasoning, text }, index) => [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text },
        ...(image === undefined ? [] : [{ type: 'input_image', image_url: imageUrl(image) }]),
      ],
    },
    ...(reasoning === ''
      ? []
      : [{ type: 'reasoning', id: `rs_${index}`, summary: [{ type: 'summary_text', text: reasoning }] }]),
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer, annotations: [] }] },
    ...calls.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.args),
    })),
    ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
  ]),
});

/** As a client of the Messages API says it: results of tools are in the next message of the user. */
function inMessages({ system, turns }: Talk) {
  const results = (calls: readonly Call[]) =>
    calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result }));
  const last = turns.at(-1)?.calls ?? [];
  return {
    max_tokens: 100,
    ...(system !== '' && { system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }] }),
    messages: [
      ...turns.flatMap(({ answer, calls, image, reasoning, text }, index) => [
        {
          role: 'user',
          content: [
            ...results(turns[index - 1]?.calls ?? []),
            { type: 'text', text },
            ...(image === undefined
              ? []
              : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
          ],
        },
        {
          role: 'assistant',
          content: [
            ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'x' }]),
            { type: 'text', text: answer },
            ...calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.args })),
          ],
        },
      ]),
      ...(last.length > 0 ? [{ role: 'user', content: results(last) }] : []),
    ],
  };
}

t.test('a conversation reaches the upstream as the same messages from every surface', async (t) => {
  fc.assert(
    fc.property(talk, (said) => {
      const expected = inCompletions(said);
      const body = inResponses(said);
      t.same(completionInput(body, MODEL, inputItems(body), new ResponseTools([])).messages, expected);
      t.same(messagesInput(inMessages(said) as never, MODEL).messages, expected);
      return t.passing();
    }),
    RUNS,
  );
});

/** What a model answers: each part may be missing, but not all. */
type Answer = { reasoning: string; text: string; calls: Call[]; finish: 'stop' | 'length' };
const answer: fc.Arbitrary<Answer> = fc
  .record({
    reasoning: maybe,
    text: maybe,
    calls: callsArbitrary,
    finish: fc.constantFrom('stop' as const, 'length' as const),
  })
  .filter(({ calls, text }) => text !== '' || calls.length > 0);

const tokens = { inputTokens: 5, outputTokens: 7 };
const finishOf = ({ calls, finish }: Answer) =>
  finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish;
const toolCall = ({ args, id, name }: Call, index: number) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

const completionOf = (given: Answer): CompletionResult => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: MODEL,
  system_fingerprint: null,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: given.text === '' ? null : given.text,
        refusal: null,
        ...(given.reasoning !== '' && { reasoning_content: given.reasoning }),
        ...(given.calls.length > 0 && { tool_calls: given.calls.map(toolCall) }),
      },
      logprobs: null,
      finish_reason: finishOf(given),
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
});

/** The same answer in pieces. `interleaved` tool calls arrive in turns. */
function chunksOf(given: Answer, size: number, isInterleaved: boolean): CompletionChunk[] {
  const chunk = (delta: object, finish: string | null = null) =>
    ({
      id: 'x',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    }) as unknown as CompletionChunk;
  const pieces = (text: string) =>
    [...text].flatMap((_, at, all) => (at % size === 0 ? all.slice(at, at + size).join('') : []));
  const calls = given.calls.map((call, index) => {
    const { function: called, ...rest } = toolCall(call, index);
    return [
      chunk({ tool_calls: [{ ...rest, function: { name: called.name, arguments: '' } }] }),
      ...pieces(called.arguments).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ];
  });
  const longest = Math.max(0, ...calls.map(({ length }) => length));
  const inTurns = Array.from({ length: longest }, (_, at) => calls.flatMap((of) => of[at] ?? [])).flat();
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(given.reasoning).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(given.text).map((piece) => chunk({ content: piece })),
    ...(isInterleaved ? inTurns : calls.flat()),
    chunk({}, finishOf(given)),
  ];
}

function streamed(writer: SurfaceWriter, chunks: readonly CompletionChunk[]): ServerEvent[] {
  const blocks = new AnswerBlocks(writer);
  const text = chunks.map((chunk) => blocks.add(chunk)).join('');
  return eventsOf(writer.start() + text + blocks.end() + writer.end(blocks, tokens));
}

/** What a client of the Responses API reads in a response. */
const fromResponse = ({ output, status }: Body) => ({
  reasoning: output.flatMap((item: Body) => (item.type === 'reasoning' ? item.content[0].text : [])).join(''),
  text: output.flatMap((item: Body) => (item.type === 'message' ? item.content[0].text : [])).join(''),
  calls: output.flatMap((item: Body) =>
    item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments)]] : [],
  ),
  isCut: status === 'incomplete',
});

/** What a client of the Messages API reads in a message. */
const fromMessage = ({ content, stop_reason: reason }: Body) => ({
  reasoning: content.flatMap((block: Body) => (block.type === 'thinking' ? block.thinking : [])).join(''),
  text: content.flatMap((block: Body) => (block.type === 'text' ? block.text : [])).join(''),
  calls: content.flatMap((block: Body) =>
    block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [],
  ),
  isCut: reason === 'max_tokens',
});

/** A message put together from its events, as Anthropic's clients do it. */
function assembled(events: readonly ServerEvent[]): Body {
  let message: Body;
  let open: number | undefined;
  for (const { data } of events) {
    if (data.type === 'message_start') message = { ...data.message, content: [] };
    if (data.type === 'content_block_start') {
      if (open !== undefined || data.index !== message.content.length) throw new Error('Blocks overlap.');
      open = data.index;
      message.content.push({ ...data.content_block, json: '' });
    }
    const block = message.content[data.index];
    if (data.type === 'content_block_delta') {
      if (data.index !== open) throw new Error('The block is not open.');
      const { partial_json: json = '', text = '', thinking = '' } = data.delta;
      if (block.type === 'text') block.text += text;
      if (block.type === 'thinking') block.thinking += thinking;
      if (block.type === 'tool_use') block.json += json;
    }
    if (data.type === 'content_block_stop') {
      if (block.type === 'tool_use') block.input = JSON.parse(block.json || '{}');
      open = undefined;
    }
    if (data.type === 'message_delta') message = { ...message, ...data.delta };
  }
  if (open !== undefined) throw new Error('A block was not closed.');
  return message;
}

t.test('an answer of the upstream is the same on every surface, whole and streamed', async (t) => {
  const context = { id: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f', model: MODEL };
  const asked = {
    ...context,
    body: { input: 'x' } as ResponseBody,
    tools: new ResponseTools([]),
    createdAt: 1,
  };
  const inMessage = { ...context, stopSequences: [] };
  fc.assert(
    fc.property(answer, fc.integer({ min: 1, max: 7 }), fc.boolean(), (given, size, isInterleaved) => {
      const expected = {
        reasoning: given.reasoning,
        text: given.text,
        calls: given.calls.map((call) => [call.id, call.name, call.args]),
        isCut: given.finish === 'length',
      };
      const blocks = blocksOf(completionOf(given));
      t.same(fromResponse(endedResponse(asked, blocks, tokens)), expected);
      t.same(fromMessage(wholeMessage(inMessage, blocks, tokens)), expected);

      const chunks = chunksOf(given, size, isInterleaved);
      const events = streamed(responseWriter(asked), chunks);
      t.same(fromResponse(events.at(-1)?.data.response), expected);
      const items = events.filter(({ data }) => data.type === 'response.output_item.done');
      t.same(
        fromResponse({
          output: items.map(({ data }) => data.item),
          status: events.at(-1)?.data.response.status,
        }),
        expected,
      );
      t.same(fromMessage(assembled(streamed(messagesWriter(inMessage, 5), chunks))), expected);
      return t.passing();
    }),
    RUNS,
  );
});
