/** The product's own chat: contract section 7. */
import { Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';

const model = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'A model that `GET /models` lists; the default one when left out.',
  examples: ['parley-builtin'],
});

export const ChatRequest = Type.Object(
  {
    message: Type.String({
      minLength: 1,
      maxLength: 100_000,
      description: 'What to say.',
      examples: ['How do I create a key?'],
    }),
    conversation_id: Type.Optional(Uuid('Continue this conversation; a new one when left out.')),
    model: Type.Optional(model),
    instructions: Type.Optional(
      Type.String({
        maxLength: 100_000,
        description: 'How the model should behave, for this reply only.',
        examples: ['Answer in one sentence.'],
      }),
    ),
    temperature: Type.Optional(
      Type.Number({ minimum: 0, maximum: 2, description: 'Randomness of the reply.', examples: [0.7] }),
    ),
    max_output_tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        format: 'int32',
        description: 'The most tokens the reply may have.',
        examples: [500],
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether the reply comes as it is made, as server-sent events.',
        examples: [false],
      }),
    ),
    store: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the turn is kept in a conversation; false keeps nothing.',
        examples: [true],
      }),
    ),
  },
  { $id: 'ChatRequest', additionalProperties: false, description: 'A message to the model.' },
);

export const finishReasons = ['stop', 'length', 'content_filter', 'tool_calls'] as const;

export const FinishReason = stringEnum(finishReasons, {
  $id: 'FinishReason',
  description: 'Why the reply ended.',
});

export const TokenUsage = Type.Object(
  {
    input_tokens: Count('Tokens the model read.', [42]),
    output_tokens: Count('Tokens the model wrote.', [128]),
  },
  { $id: 'TokenUsage', additionalProperties: false, description: 'Model tokens of one reply.' },
);

export const ChatHistory = Type.Object(
  {
    included: Count('Earlier messages of the conversation that the model was sent, whole ones only.', [4]),
    omitted: Count(
      'Older messages that it was not sent, because they did not fit. They stay in the conversation.',
      [0],
    ),
  },
  {
    $id: 'ChatHistory',
    additionalProperties: false,
    description: 'How much of the conversation the model knew as it answered.',
  },
);

export const ChatReply = Type.Object(
  {
    id: Uuid("The reply's id."),
    conversation_id: nullable(Uuid(''), { description: 'Pass it to continue; null with `store: false`.' }),
    model,
    reply: Type.String({
      maxLength: 10_000_000,
      description: 'What the model said, as Markdown.',
      examples: ['Open "Your API" and press Create key.'],
    }),
    finish_reason: ref(FinishReason),
    usage: ref(TokenUsage),
    history: Type.Optional(ref(ChatHistory)),
    created_at: Timestamp('When the reply was made.'),
  },
  { $id: 'ChatReply', additionalProperties: false, description: 'The reply to a message.' },
);
