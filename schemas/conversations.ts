/** Stored conversations: contract sections 1 and 7. */
import { Type } from '@sinclair/typebox';
import {
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

const conversationFields = {
  id: Uuid("The conversation's ID."),
  title: Type.String({
    maxLength: 120,
    description: 'The start of its first message.',
    examples: ['How do I create a key?'],
  }),
  key_id: nullable(Uuid(''), { description: 'The key that created it; null for the web chat.' }),
  created_at: Timestamp('When its first message was sent.'),
  updated_at: Timestamp('When its last turn was stored.'),
};

export const MessageRole = stringEnum(['user', 'assistant'], {
  $id: 'MessageRole',
  description: 'The author of the message.',
});

export const Message = Type.Object(
  {
    id: Uuid("The message's ID."),
    role: ref(MessageRole),
    content: Type.String({
      maxLength: 10_000_000,
      description: 'The text of the message.',
      examples: ['How do I create a key?'],
    }),
    model: nullable(Type.String({ maxLength: 200 }), {
      description: 'The model that wrote it; null for the user.',
      examples: ['parley-builtin'],
    }),
    stopped: Type.Optional(
      Type.Boolean({
        description: 'True if this answer was stopped before it was complete.',
        examples: [true],
      }),
    ),
    created_at: Timestamp('When it was stored.'),
  },
  { $id: 'Message', additionalProperties: false, description: 'One message of a conversation.' },
);

export const ConversationSummary = Type.Object(conversationFields, {
  $id: 'ConversationSummary',
  additionalProperties: false,
  description: 'A conversation without its messages.',
});

export const Conversation = Type.Object(
  {
    ...conversationFields,
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
      description: 'Most recently updated first.',
    }),
    next_cursor: NextCursor,
  },
  { $id: 'ConversationList', additionalProperties: false, description: 'A page of conversations.' },
);

export const ConversationParams = idParams("The conversation's ID.");

export const ConversationListQuery = Type.Object(
  { limit: limitTo(100, 20), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

export const ConversationQuery = Type.Object(
  { limit: limitTo(500, 200), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
