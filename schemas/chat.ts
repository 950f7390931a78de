/** Parley's own chat: contract section 7. */
import { Type } from '@sinclair/typebox';
import { Count, documentedPattern, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';

export const MAX_IMAGES = 8;
export const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

/** The body size limit. No string can be longer, so validation never has to count characters. */
const MAX_IMAGE_URL = 20 * 1024 * 1024;

export const ImageUrl = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: MAX_IMAGE_URL,
    ...documentedPattern(/^data:image\/(png|jpeg|webp|gif);base64,/),
    description,
    examples: ['data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'],
  });

const model = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'A model from `GET /models`. Defaults to the default model.',
  examples: ['parley-builtin'],
});

export const ChatRequest = Type.Object(
  {
    message: Type.String({
      minLength: 1,
      maxLength: 100_000,
      description: 'The message text.',
      examples: ['How do I create a key?'],
    }),
    images: Type.Optional(
      Type.Array(ImageUrl('A PNG, JPEG, WebP, or GIF as a `data:` URL in Base64.'), {
        maxItems: MAX_IMAGES,
        description:
          'Images for models that accept them. Up to 4 MiB in total; with `store: false`, only the body limit applies.',
      }),
    ),
    conversation_id: Type.Optional(Uuid('The conversation to continue. Omit it to start a new one.')),
    replaces: Type.Optional(
      Uuid(
        'The ID of a user message to replace, for example to edit or resend it. The model does not see that message or any later one. When the reply is stored, Parley deletes them. A stopped reply is not stored and deletes nothing.',
      ),
    ),
    model: Type.Optional(model),
    instructions: Type.Optional(
      Type.String({
        maxLength: 100_000,
        description: 'Instructions for the model, for this reply only.',
        examples: ['Answer in one sentence.'],
      }),
    ),
    temperature: Type.Optional(
      Type.Number({ minimum: 0, maximum: 2, description: 'The randomness of the reply.', examples: [0.7] }),
    ),
    max_output_tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        format: 'int32',
        description: 'The maximum number of tokens in the reply.',
        examples: [500],
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to stream the reply as server-sent events.',
        examples: [false],
      }),
    ),
    store: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether to store the turn in a conversation. If false, nothing is stored.',
        examples: [true],
      }),
    ),
  },
  { $id: 'ChatRequest', additionalProperties: false, description: 'A message to the model.' },
);

export const finishReasons = ['stop', 'length', 'content_filter', 'tool_calls'] as const;

export const FinishReason = stringEnum(finishReasons, {
  $id: 'FinishReason',
  description: 'The reason that the reply ended.',
});

export const TokenUsage = Type.Object(
  {
    input_tokens: Count('Input tokens.', [42]),
    output_tokens: Count('Output tokens.', [128]),
  },
  { $id: 'TokenUsage', additionalProperties: false, description: 'Token usage of one reply.' },
);

export const ChatHistory = Type.Object(
  {
    included: Count('The number of earlier messages sent to the model. Messages are never split.', [4]),
    omitted: Count(
      'The number of older messages left out because they did not fit. They stay in the conversation.',
      [0],
    ),
  },
  {
    $id: 'ChatHistory',
    additionalProperties: false,
    description: 'How much of the conversation was sent to the model.',
  },
);

export const ChatReply = Type.Object(
  {
    id: Uuid("The reply's ID."),
    conversation_id: nullable(Uuid(''), {
      description:
        'The ID of the conversation. Send it with the next message to continue. Null if `store` is false.',
    }),
    model,
    reply: Type.String({
      maxLength: 10_000_000,
      description: 'The reply, in Markdown.',
      examples: ['Open "Your API" and press Create key.'],
    }),
    finish_reason: ref(FinishReason),
    stopped: Type.Optional(
      Type.Boolean({
        description: 'True if the reply was stopped. The text is what the model had generated so far.',
        examples: [true],
      }),
    ),
    usage: ref(TokenUsage),
    history: Type.Optional(ref(ChatHistory)),
    created_at: Timestamp('When the reply was created.'),
  },
  { $id: 'ChatReply', additionalProperties: false, description: 'The reply to a message.' },
);

export const ChatCancelRequest = Type.Object(
  {
    idempotency_key: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]*$',
      description: 'The `Idempotency-Key` of the request to stop.',
      examples: ['5e3f3a52-7c0b-4b1c-9a55-0d6a1f8c7f11'],
    }),
  },
  { $id: 'ChatCancelRequest', additionalProperties: false, description: 'The request to stop.' },
);

export const StoppedChat = Type.Object(
  { stopped: Type.Boolean({ description: 'Always true.', examples: [true] }) },
  { $id: 'StoppedChat', additionalProperties: false, description: 'A request that was stopped.' },
);
