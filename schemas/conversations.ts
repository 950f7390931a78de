/** Stored conversations: contract sections 1 and 7. */
import { Type } from '@sinclair/typebox';
import { FinishReason, ImageUrl, imageTypes, MAX_IMAGES } from './chat.ts';
import {
  Count,
  Cursor,
  idParams,
  limitTo,
  NextCursor,
  nullable,
  ref,
  stringEnum,
  Timestamp,
  Uuid,
} from './common.ts';

const MAX_TITLE = 120;
const MAX_INSTRUCTIONS = 100_000;

const conversationFields = {
  id: Uuid("The conversation's ID."),
  title: Type.String({
    maxLength: MAX_TITLE,
    description: 'The title that was set, or the start of the first message.',
    examples: ['How do I create a key?'],
  }),
  pinned: Type.Boolean({
    description: 'Whether the conversation is pinned to the top of the list.',
    examples: [false],
  }),
  key_id: nullable(Uuid(''), { description: 'The key that created it; null for the web chat.' }),
  created_at: Timestamp('When its first message was sent.'),
  updated_at: Timestamp('When its last turn was stored.'),
};

export const MessageRole = stringEnum(['user', 'assistant'], {
  $id: 'MessageRole',
  description: 'The author of the message.',
});

const imageFields = {
  type: stringEnum(imageTypes, { description: 'The type of the image.' }),
  size: Count('The size of the image in bytes.', [48_211]),
};

export const MessageImage = Type.Object(imageFields, {
  $id: 'MessageImage',
  additionalProperties: false,
  description: 'An image of a message, without its content.',
});

export const StoredImage = Type.Object(
  { ...imageFields, url: ImageUrl('The image as a `data:` URL, as `POST /chat` accepts it.') },
  { $id: 'StoredImage', additionalProperties: false, description: 'An image of a message.' },
);

export const MessageImageList = Type.Object(
  {
    data: Type.Array(ref(StoredImage), {
      maxItems: MAX_IMAGES,
      description: 'In the order in which they were sent.',
    }),
  },
  { $id: 'MessageImageList', additionalProperties: false, description: 'The images of a message.' },
);

export const Message = Type.Object(
  {
    id: Uuid("The message's ID."),
    role: ref(MessageRole),
    content: Type.String({
      maxLength: 10_000_000,
      description: 'The text of the message.',
      examples: ['How do I create a key?'],
    }),
    images: Type.Optional(
      Type.Array(ref(MessageImage), {
        maxItems: MAX_IMAGES,
        description:
          'The images sent with the message, if any. `GET /conversations/:id/images` returns their content.',
      }),
    ),
    model: nullable(Type.String({ maxLength: 200 }), {
      description: 'The model that wrote the message; null for user messages.',
      examples: ['parley-builtin'],
    }),
    stopped: Type.Optional(
      Type.Boolean({
        description: 'True if this reply was stopped before it was complete.',
        examples: [true],
      }),
    ),
    finish_reason: Type.Optional(ref(FinishReason)),
    created_at: Timestamp('When it was stored.'),
  },
  { $id: 'Message', additionalProperties: false, description: 'One message of a conversation.' },
);

export const ConversationSummary = Type.Object(
  {
    ...conversationFields,
    snippet: Type.Optional(
      Type.String({
        maxLength: 300,
        description:
          'In search results: the part of the newest message that contains the words, as plain text.',
        examples: ['Open "Your API" and press Create key.'],
      }),
    ),
  },
  {
    $id: 'ConversationSummary',
    additionalProperties: false,
    description: 'A conversation without its messages.',
  },
);

const settings = {
  instructions: nullable(Type.String({ maxLength: MAX_INSTRUCTIONS }), {
    description: 'The instructions to use if a request has none.',
    examples: ['Answer in one sentence.'],
  }),
  temperature: nullable(Type.Number({ minimum: 0, maximum: 2 }), {
    description: 'The temperature to use if a request sets none.',
    examples: [0.7],
  }),
};

export const ConversationDetails = Type.Object(
  { ...conversationFields, ...settings },
  {
    $id: 'ConversationDetails',
    additionalProperties: false,
    description: 'A conversation with its settings, without its messages.',
  },
);

export const UpdateConversation = Type.Object(
  {
    title: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_TITLE,
        pattern: '\\S',
        description: 'A new title.',
        examples: ['Keys'],
      }),
    ),
    pinned: Type.Optional(
      Type.Boolean({
        description: 'Whether to pin the conversation to the top of the list.',
        examples: [true],
      }),
    ),
    instructions: Type.Optional(settings.instructions),
    temperature: Type.Optional(settings.temperature),
  },
  {
    $id: 'UpdateConversation',
    additionalProperties: false,
    description: 'The fields to change. Null removes a setting.',
  },
);

export const Conversation = Type.Object(
  {
    ...conversationFields,
    ...settings,
    messages: Type.Array(ref(Message), {
      maxItems: 500,
      description: 'In chronological order. The first page has the newest messages.',
    }),
    next_cursor: NextCursor,
  },
  {
    $id: 'Conversation',
    additionalProperties: false,
    description: 'A conversation with a page of its messages.',
  },
);

export const ConversationList = Type.Object(
  {
    data: Type.Array(ref(ConversationSummary), {
      maxItems: 100,
      description: 'Pinned ones first, then the most recently updated.',
    }),
    next_cursor: NextCursor,
  },
  { $id: 'ConversationList', additionalProperties: false, description: 'A page of conversations.' },
);

export const ConversationParams = idParams("The conversation's ID.");

export const ConversationListQuery = Type.Object(
  {
    limit: limitTo(100, 20),
    cursor: Type.Optional(Cursor),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        pattern: '\\S',
        description:
          'Only conversations in which all of these words occur in the title or in one of the last 1,000 messages, ignoring case.',
        examples: ['create key'],
      }),
    ),
    source: Type.Optional(
      stringEnum(['web'], {
        description: '`web`: only conversations of the web chat, not those that API keys created.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const ConversationQuery = Type.Object(
  { limit: limitTo(500, 200), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

export const MessageImagesQuery = Type.Object(
  { message_id: Uuid('The message whose images to return.') },
  { additionalProperties: false },
);
