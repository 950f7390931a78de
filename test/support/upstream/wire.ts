/**
 * A server with responses from the test, and sample responses in the documented formats of two vendors: Anthropic's
 * "Streaming messages", and OpenAI's "Streaming API responses" and "Streaming chat completions".
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { Body } from '../http.ts';

export type WireCall = { method: string; path: string; headers: IncomingHttpHeaders; body: Body };
/** A response. A string body is sent as server-sent events, and any other as JSON. */
export type WireAnswer = { status?: number; headers?: Record<string, string>; body: unknown };

/**
 * Starts a server in this process, which stops when the test ends.
 *
 * @param answer - returns the response to a request
 * @returns the base URL, and the requests so far
 */
export async function wireServer(t: Test, answer: (call: WireCall) => WireAnswer | Promise<WireAnswer>) {
  const calls: WireCall[] = [];
  const server = createServer(async (request, response) => {
    const raw = await text(request);
    const call = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: raw === '' ? undefined : JSON.parse(raw),
    };
    calls.push(call);
    const { body, headers, status = 200 } = await answer(call);
    const isStream = typeof body === 'string';
    response.writeHead(status, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
      ...headers,
    });
    response.end(isStream ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, calls };
}

type Event = { type: string } & Record<string, unknown>;

/** The text of a stream of chat completions: events without names, and `[DONE]`. */
export const chunkText = (chunks: readonly object[]): string =>
  [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');

/** The text of a stream of named events. */
export const eventText = (events: readonly Event[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const begun = {
  id: 'msg_014p7gG3wDgGV9EUtLvnow3U',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [],
  stop_reason: null,
  stop_sequence: null,
};
const block = (index: number, content: object, deltas: object[]): Event[] => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

/**
 * A reply as events of Anthropic's API: thinking, redacted thinking, text, and two tool calls, one without arguments.
 */
export const anthropicEvents: readonly Event[] = [
  {
    type: 'message_start',
    message: {
      ...begun,
      usage: {
        input_tokens: 400,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 52,
        output_tokens: 2,
      },
    },
  },
  { type: 'ping' },
  ...block(0, { type: 'thinking', thinking: '', signature: '' }, [
    { type: 'thinking_delta', thinking: 'The user asks ' },
    { type: 'thinking_delta', thinking: 'for the weather.' },
    { type: 'signature_delta', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
  ]),
  ...block(1, { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }, []),
  ...block(2, { type: 'text', text: '' }, [
    { type: 'text_delta', text: "Okay, let's check " },
    { type: 'text_delta', text: 'the weather.' },
  ]),
  ...block(3, { type: 'tool_use', id: 'toolu_01T1x1fJ34', name: 'get_weather', input: {} }, [
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: '{"location":' },
    { type: 'input_json_delta', partial_json: ' "San Francisco, CA"}' },
  ]),
  ...block(4, { type: 'tool_use', id: 'toolu_02', name: 'get_time', input: {} }, []),
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 89 },
  },
  { type: 'message_stop' },
];

/** The same reply as a whole message. */
export const anthropicMessage = {
  ...begun,
  content: [
    {
      type: 'thinking',
      thinking: 'The user asks for the weather.',
      signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h',
    },
    { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
    { type: 'text', text: "Okay, let's check the weather." },
    {
      type: 'tool_use',
      id: 'toolu_01T1x1fJ34',
      name: 'get_weather',
      input: { location: 'San Francisco, CA' },
    },
    { type: 'tool_use', id: 'toolu_02', name: 'get_time', input: {} },
  ],
  stop_reason: 'tool_use',
  usage: {
    input_tokens: 400,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 52,
    output_tokens: 89,
  },
};

const reasoningItem = {
  id: 'rs_67ccfcdd16748190a91872c75d38539e',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'The user asks for the weather.' }],
  encrypted_content: 'gAAAAABoISQ24OyVRYbk',
};
const messageItem = {
  id: 'msg_67c9fdcf37fc8190ba82116e33fb28c5',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: "Okay, let's check the weather.", annotations: [] }],
};
const callItem = {
  id: 'fc_67ca09c6bedc8190a7abfec07b1a1332',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_unDw3TjSk2',
  name: 'get_weather',
  arguments: '{"location":"San Francisco, CA"}',
};
const response = (status: string, more: object = {}) => ({
  id: 'resp_67ca09c5efe0819096d0511c92b8c890',
  object: 'response',
  created_at: 1_741_294_021,
  status,
  error: null,
  incomplete_details: null,
  model: 'gpt-5-2025-08-07',
  output: [],
  usage: null,
  ...more,
});

/** A call of a tool in a namespace. */
const namedItem = {
  id: 'fc_67ca09c6bedc8190a7abfec07b1a1333',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_vEw4UkTl3',
  name: 'map',
  namespace: 'maps',
  arguments: '{"city":"Paris"}',
};

/** The same reply as a whole response of OpenAI's Responses API, but its second call is of a tool in a namespace. */
export const openaiResponse = response('completed', {
  output: [reasoningItem, messageItem, callItem, namedItem],
  usage: {
    input_tokens: 472,
    input_tokens_details: { cached_tokens: 52 },
    output_tokens: 89,
    output_tokens_details: { reasoning_tokens: 64 },
    total_tokens: 561,
  },
});

const summary = { item_id: reasoningItem.id, output_index: 0, summary_index: 0 };
const said = { item_id: messageItem.id, output_index: 1, content_index: 0 };
const called = { item_id: callItem.id, output_index: 2 };
const named = { item_id: namedItem.id, output_index: 3 };
const [{ text: summaryText = '' } = {}] = reasoningItem.summary;
const [part] = messageItem.content;

/** The same response as events. */
export const openaiEvents: readonly Event[] = [
  { type: 'response.created', response: response('in_progress') },
  { type: 'response.in_progress', response: response('in_progress') },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: reasoningItem.id, type: 'reasoning', summary: [] },
  },
  {
    type: 'response.reasoning_summary_part.added',
    ...summary,
    part: { type: 'summary_text', text: '' },
  },
  { type: 'response.reasoning_summary_text.delta', ...summary, delta: 'The user asks ' },
  { type: 'response.reasoning_summary_text.delta', ...summary, delta: 'for the weather.' },
  { type: 'response.reasoning_summary_text.done', ...summary, text: summaryText },
  { type: 'response.reasoning_summary_part.done', ...summary, part: reasoningItem.summary[0] },
  { type: 'response.output_item.done', output_index: 0, item: reasoningItem },
  {
    type: 'response.output_item.added',
    output_index: 1,
    item: { ...messageItem, status: 'in_progress', content: [] },
  },
  { type: 'response.content_part.added', ...said, part: { ...part, text: '' } },
  { type: 'response.output_text.delta', ...said, delta: "Okay, let's check " },
  { type: 'response.output_text.delta', ...said, delta: 'the weather.' },
  { type: 'response.output_text.done', ...said, text: part?.text },
  { type: 'response.content_part.done', ...said, part },
  { type: 'response.output_item.done', output_index: 1, item: messageItem },
  {
    type: 'response.output_item.added',
    output_index: 2,
    item: { ...callItem, status: 'in_progress', arguments: '' },
  },
  { type: 'response.function_call_arguments.delta', ...called, delta: '{"location":' },
  { type: 'response.function_call_arguments.delta', ...called, delta: '"San Francisco, CA"}' },
  { type: 'response.function_call_arguments.done', ...called, arguments: callItem.arguments },
  { type: 'response.output_item.done', output_index: 2, item: callItem },
  {
    type: 'response.output_item.added',
    output_index: 3,
    item: { ...namedItem, status: 'in_progress', arguments: '' },
  },
  { type: 'response.function_call_arguments.delta', ...named, delta: namedItem.arguments },
  { type: 'response.function_call_arguments.done', ...named, arguments: namedItem.arguments },
  { type: 'response.output_item.done', output_index: 3, item: namedItem },
  { type: 'response.completed', response: openaiResponse },
];

const piece = (delta: object, finish: string | null = null) => ({
  id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
  object: 'chat.completion.chunk',
  created: 1_741_569_952,
  model: 'gpt-5',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const callPiece = (index: number, text: string, begun: { id?: string; type?: string } = {}, name = {}) =>
  piece({ tool_calls: [{ index, ...begun, function: { ...name, arguments: text } }] });

/** The same reply as chunks of a chat completion, with reasoning in the field that vLLM uses. */
export const completionChunks: readonly object[] = [
  piece({ role: 'assistant', content: '' }),
  piece({ reasoning_content: 'The user asks ' }),
  piece({ reasoning_content: 'for the weather.' }),
  piece({ content: "Okay, let's check " }),
  piece({ content: 'the weather.' }),
  callPiece(0, '', { id: 'call_unDw3TjSk2', type: 'function' }, { name: 'get_weather' }),
  callPiece(0, '{"location":'),
  callPiece(0, '"San Francisco, CA"}'),
  callPiece(1, '', { id: 'call_vEw4UkTl3', type: 'function' }, { name: 'get_time' }),
  callPiece(1, '{}'),
  piece({}, 'tool_calls'),
  { ...piece({}), choices: [], usage: { prompt_tokens: 472, completion_tokens: 89, total_tokens: 561 } },
];
