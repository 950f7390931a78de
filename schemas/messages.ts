/** Responses of Anthropic's Messages API: contract section 14. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringConst, stringEnum } from './common.ts';
import { MessagesToolInput } from './messages-requests.ts';
import { PassedObject } from './passed-objects.ts';

const MAX_ANSWERED = 20_000_000;

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: MAX_ANSWERED, description, examples: [example] }));

export const MessagesContentBlock = Type.Object(
  {
    type: stringEnum(['text', 'thinking', 'redacted_thinking', 'tool_use'], {
      ...extensible,
      description: 'The kind of block.',
    }),
    text: text('The text of a `text` block.', 'Open "Your API" and press Create key.'),
    citations: Type.Optional(
      Type.Array(ref(PassedObject), {
        maxItems: 10_000,
        description: 'The citations of a `text` block, if any.',
      }),
    ),
    thinking: text('The text of a `thinking` block.', 'The user wants a key.'),
    signature: text('The signature of a `thinking` block. Send it back unchanged.', 'parley'),
    data: text(
      'The hidden text of a `redacted_thinking` block. Send it back unchanged.',
      'EmwKAhgBEgy3va3pzix',
    ),
    id: text('Identifies a tool call. Send its result with this ID.', 'call_1'),
    name: text('The called tool.', 'get_weather'),
    input: Type.Optional(ref(MessagesToolInput)),
  },
  {
    $id: 'MessagesContentBlock',
    additionalProperties: false,
    description: 'A block of the response. Its members depend on `type`.',
  },
);

export const MessagesUsage = Type.Object(
  {
    input_tokens: Count('Input tokens, excluding those read from or written to a cache.', [42]),
    output_tokens: Count('Output tokens.', [128]),
    cache_creation_input_tokens: Count('Input tokens written to a cache.', [0]),
    cache_read_input_tokens: Count('Input tokens read from a cache.', [0]),
    cache_creation: Type.Optional(ref(PassedObject)),
  },
  { $id: 'MessagesUsage', additionalProperties: false, description: 'Token usage.' },
);

export const MessagesStopReason = stringEnum(
  [
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'tool_use',
    'refusal',
    'pause_turn',
    'model_context_window_exceeded',
  ],
  { $id: 'MessagesStopReason', ...extensible, description: 'The reason that the response ended.' },
);

export const stopFields = {
  stop_reason: nullable(ref(MessagesStopReason), {
    description: 'Why the response ended; null while it is streaming.',
    examples: ['end_turn'],
  }),
  stop_sequence: nullable(Type.String({ maxLength: MAX_ANSWERED }), {
    description: 'The stop sequence that ended the response, if the model names it.',
    examples: [null],
  }),
  stop_details: nullable(ref(PassedObject), {
    description: 'Details of a refusal, if the upstream provides them.',
  }),
};

export const AnsweredMessage = Type.Object(
  {
    id: Type.String({
      maxLength: 200,
      description: "The message's ID.",
      examples: ['msg_01932f624e207d90a1b27e8f90a1b2c3'],
    }),
    type: stringConst('message', { description: 'Always `message`.' }),
    role: stringConst('assistant', { description: 'Always `assistant`.' }),
    model: Type.String({
      maxLength: 200,
      description: 'The model that generated the response.',
      examples: ['parley-builtin'],
    }),
    content: Type.Array(ref(MessagesContentBlock), {
      maxItems: 10_000,
      description: 'The blocks of the response.',
    }),
    ...stopFields,
    usage: ref(MessagesUsage),
  },
  { $id: 'AnsweredMessage', additionalProperties: false, description: "A message, in Anthropic's format." },
);

export const MessagesTokenCount = Type.Object(
  { input_tokens: Count('The number of input tokens.', [42]) },
  {
    $id: 'MessagesTokenCount',
    additionalProperties: false,
    description: 'The number of input tokens, counted or estimated.',
  },
);
