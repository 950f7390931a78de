import { AnsweredMessage, MessagesTokenCount } from '../messages.ts';
import { MessagesEvent } from '../messages-events.ts';
import { MessagesCountRequest, MessagesRequest } from '../messages-requests.ts';
import { example, type OperationExamples } from './example.ts';

const question = 'How do I create a key?';
const model = 'parley-builtin';

const message = {
  id: 'msg_01932f624e207d90a1b27e8f90a1b2c3',
  type: 'message' as const,
  role: 'assistant' as const,
  model,
  content: [
    {
      type: 'text' as const,
      text: 'Open "Your API" in the dashboard and press Create key.',
    },
  ],
  stop_reason: 'end_turn' as const,
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 6,
    output_tokens: 11,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  },
};

const event = (summary: string, data: (typeof MessagesEvent)['static']) => ({
  summary,
  value: { event: data.type, data: example(MessagesEvent, '', data).value },
});

export const messagesExamples: Record<string, OperationExamples> = {
  createMessage: {
    requests: {
      question: example(MessagesRequest, 'A question', {
        model,
        max_tokens: 1024,
        messages: [{ role: 'user', content: question }],
      }),
      blocks: example(MessagesRequest, 'Blocks, with a system prompt', {
        model,
        max_tokens: 1024,
        system: [{ type: 'text', text: 'Answer in one sentence.' }],
        messages: [{ role: 'user', content: [{ type: 'text', text: question }] }],
      }),
      streamed: example(MessagesRequest, 'Streamed', {
        model,
        max_tokens: 1024,
        messages: [{ role: 'user', content: question }],
        stream: true,
      }),
    },
    responses: { message: example(AnsweredMessage, 'The message', message) },
    stream: {
      start: event('The first event', {
        type: 'message_start',
        message: {
          ...message,
          content: [],
          stop_reason: null,
          usage: { ...message.usage, output_tokens: 0 },
        },
      }),
      delta: event('A piece of the response', {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Open ' },
      }),
      end: event('The reason that the response ended', {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
        usage: message.usage,
      }),
      stop: event('The last event', { type: 'message_stop' }),
    },
  },
  countMessageTokens: {
    requests: {
      question: example(MessagesCountRequest, 'A question', {
        model,
        messages: [{ role: 'user', content: question }],
      }),
    },
    responses: { count: example(MessagesTokenCount, 'The estimate', { input_tokens: 6 }) },
  },
};
