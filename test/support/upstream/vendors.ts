/**
 * The test upstream's default responses in the documented formats of Anthropic's Messages API and OpenAI's Responses
 * API. Text only.
 */
import type { DialectKind } from '../../../src/upstreams-file/schema.ts';
import { type ChatBody, replyTo } from './replies.ts';
import type { Settings } from './settings.ts';

type Json = Record<string, unknown>;
export type Vendor = Exclude<DialectKind, 'openai'>;
export type VendorEvent = { name: string; data: string; isText: boolean };

type Api = {
  path: string;
  /** Converts a body to one of chat completions, as far as the reply depends on it. */
  chatBody(body: Json): ChatBody;
  /** The whole response. */
  answer(body: ChatBody, text: string, usage: Json, finishReason: string): Json;
  /** The events of a stream. */
  events(body: ChatBody, settings: Settings): Iterator<VendorEvent>;
};

function chatBodyOfResponse({ input, max_output_tokens: limit, ...rest }: Json): ChatBody {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as Json[]);
  return { ...rest, messages: items, ...(limit !== undefined && { max_tokens: limit }) } as ChatBody;
}

const event = (name: string, fields: Json, isText = false): VendorEvent => ({
  ...{ name, isText },
  data: JSON.stringify({ type: name, ...fields }),
});

const tokensOf = ({ completion_tokens: output, prompt_tokens: input }: Json) => ({
  input_tokens: Number(input),
  output_tokens: Number(output),
});

function messageOf({ model }: ChatBody, text: string | undefined, usage: Json, reason: string | null): Json {
  return {
    ...{ id: 'msg_test', type: 'message', role: 'assistant', model },
    content: text === undefined ? [] : [{ type: 'text', text }],
    ...{ stop_reason: reason, stop_sequence: null, usage },
  };
}

const stopReasonOf = (finishReason: string) => (finishReason === 'length' ? 'max_tokens' : 'end_turn');

function* messageEvents(body: ChatBody, settings: Settings): Generator<VendorEvent> {
  const { finishReason, pieces, usage } = replyTo(body, settings);
  const { input_tokens: input, output_tokens: output } = tokensOf(usage);
  const begun = messageOf(body, undefined, { input_tokens: input, output_tokens: 1 }, null);
  yield event('message_start', { message: begun });
  yield event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  for (const text of pieces)
    yield event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }, true);
  yield event('content_block_stop', { index: 0 });
  const delta = { stop_reason: stopReasonOf(finishReason), stop_sequence: null };
  yield event('message_delta', { delta, usage: { output_tokens: output } });
  yield event('message_stop', {});
}

const itemOf = (status: string, text?: string): Json => ({
  ...{ id: 'msg_test', type: 'message', status, role: 'assistant' },
  content: text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }],
});

const responseOf = ({ model }: ChatBody, status: string, more: Json): Json => ({
  ...{ id: 'resp_test', object: 'response', created_at: 1_763_596_800, status, model },
  ...{ error: null, incomplete_details: null, output: [], usage: null },
  ...more,
});

function endedResponse(body: ChatBody, text: string, usage: Json, finishReason: string): Json {
  const { input_tokens: input, output_tokens: output } = tokensOf(usage);
  const isCut = finishReason === 'length';
  return responseOf(body, isCut ? 'incomplete' : 'completed', {
    output: [itemOf('completed', text)],
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...(isCut && { incomplete_details: { reason: 'max_output_tokens' } }),
  });
}

function* responseEvents(body: ChatBody, settings: Settings): Generator<VendorEvent> {
  const { finishReason, pieces, usage } = replyTo(body, settings);
  const place = { item_id: 'msg_test', output_index: 0, content_index: 0 };
  let said = '';
  yield event('response.created', { response: responseOf(body, 'in_progress', {}) });
  yield event('response.output_item.added', { output_index: 0, item: itemOf('in_progress') });
  for (const text of pieces) {
    said += text;
    yield event('response.output_text.delta', { ...place, delta: text }, true);
  }
  yield event('response.output_text.done', { ...place, text: said });
  yield event('response.output_item.done', { output_index: 0, item: itemOf('completed', said) });
  const name = finishReason === 'length' ? 'response.incomplete' : 'response.completed';
  yield event(name, { response: endedResponse(body, said, usage, finishReason) });
}

const apis: Readonly<Record<Vendor, Api>> = {
  anthropic: {
    path: '/messages',
    chatBody: (body) => body as ChatBody,
    answer: (body, text, usage, finishReason) =>
      messageOf(body, text, tokensOf(usage), stopReasonOf(finishReason)),
    events: messageEvents,
  },
  'openai-responses': {
    path: '/responses',
    chatBody: chatBodyOfResponse,
    answer: endedResponse,
    events: responseEvents,
  },
};

/** The API that a path belongs to; undefined for chat completions and other paths. */
export const vendorOf = (path: string): Vendor | undefined =>
  (Object.keys(apis) as Vendor[]).find((vendor) => path.endsWith(apis[vendor].path));

/** Converts a body of a vendor's API to one of chat completions, without tools. */
export const chatBodyOf = (vendor: Vendor, { tools: _tools, ...body }: Json): ChatBody =>
  apis[vendor].chatBody(body);

/** The events of a stream in a vendor's format. */
export const vendorEvents = (vendor: Vendor, body: ChatBody, settings: Settings): Iterator<VendorEvent> =>
  apis[vendor].events(body, settings);

/** The whole response in a vendor's format. */
export function vendorAnswer(vendor: Vendor, body: ChatBody, settings: Settings): Json {
  const { finishReason, pieces, usage } = replyTo(body, settings);
  const text = [...pieces].join('');
  return apis[vendor].answer(body, text, usage, finishReason);
}
