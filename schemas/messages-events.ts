/** The events of a streamed message: contract section 14. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, ref, stringEnum } from './common.ts';
import { AnsweredMessage, MessagesContentBlock, MessagesUsage, stopFields } from './messages.ts';
import { MessagesErrorObject } from './messages-errors.ts';
import { PassedObject } from './passed-objects.ts';

const eventTypes = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
] as const;

export const MessagesEventType = stringEnum(eventTypes, {
  $id: 'MessagesEventType',
  ...extensible,
  description: 'The kind of event.',
});
export type MessagesEventType = (typeof eventTypes)[number];

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 20_000_000, description, examples: [example] }));

export const MessagesDelta = Type.Object(
  {
    type: Type.Optional(
      stringEnum(['text_delta', 'citations_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'], {
        ...extensible,
        description: 'The kind of change to a block.',
      }),
    ),
    text: text('Text to append.', 'Open '),
    citation: Type.Optional(ref(PassedObject)),
    thinking: text('Thinking to append.', 'The user '),
    signature: text('The signature of the thinking.', 'parley'),
    partial_json: text('JSON to append to the input of a tool call.', '{"city":'),
    stop_reason: Type.Optional(stopFields.stop_reason),
    stop_sequence: Type.Optional(stopFields.stop_sequence),
    stop_details: Type.Optional(stopFields.stop_details),
  },
  {
    $id: 'MessagesDelta',
    additionalProperties: false,
    description:
      'A change to a block, which has a `type`, or the end of the message, which has a `stop_reason`.',
  },
);

export const MessagesEvent = Type.Object(
  {
    type: ref(MessagesEventType),
    message: Type.Optional(ref(AnsweredMessage)),
    index: Type.Optional(Count('The index of the block in the content.', [0])),
    content_block: Type.Optional(ref(MessagesContentBlock)),
    delta: Type.Optional(ref(MessagesDelta)),
    usage: Type.Optional(ref(MessagesUsage)),
    error: Type.Optional(ref(MessagesErrorObject)),
    request_id: Type.Optional(
      Type.String({
        maxLength: 36,
        description: 'The request ID, in an `error` event.',
        examples: ['01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f'],
      }),
    ),
  },
  {
    $id: 'MessagesEvent',
    additionalProperties: false,
    description:
      'The data of an event. Its members depend on `type`. The last event is `message_stop`, or `error` if the response is interrupted.',
  },
);

export const MessagesStreamEvent = Type.Object(
  { event: ref(MessagesEventType), data: ref(MessagesEvent) },
  {
    $id: 'MessagesStreamEvent',
    additionalProperties: false,
    description:
      'An event of a streamed message. `event` repeats the type. Lines that begin with a colon are comments.',
  },
);
