/** The events of a streamed reply: contract section 7. `data` is sent as JSON. */
import { type TSchema, Type } from '@sinclair/typebox';
import { ChatReply } from './chat.ts';
import { nullable, ref, stringConst, Uuid } from './common.ts';
import { ErrorResponse } from './errors.ts';

const event = <const Name extends string, Data extends TSchema>(
  $id: string,
  name: Name,
  data: Data,
  description: string,
) =>
  Type.Object(
    { event: stringConst(name, { description: `Always \`${name}\`.` }), data },
    { $id, additionalProperties: false, description },
  );

export const ChatStreamOpening = Type.Object(
  {
    id: Uuid("The reply's ID."),
    conversation_id: nullable(Uuid(''), {
      description:
        'The ID of the conversation. Send it with the next message to continue. Null if `store` is false.',
    }),
    model: Type.String({
      maxLength: 200,
      description: 'The model that generates the reply.',
      examples: ['parley-builtin'],
    }),
    reasoning: Type.Optional(
      Type.Boolean({
        description: 'True if the model reasons before it replies, so the text can take a while to start.',
        examples: [true],
      }),
    ),
  },
  {
    $id: 'ChatStreamOpening',
    additionalProperties: false,
    description: 'Metadata sent when a reply starts.',
  },
);

export const ChatStreamStart = event('ChatStreamStart', 'start', ref(ChatStreamOpening), 'The first event.');

export const ChatStreamText = Type.Object(
  { text: Type.String({ maxLength: 10_000_000, description: 'The text to append.', examples: ['Open '] }) },
  { $id: 'ChatStreamText', additionalProperties: false, description: 'The next piece of a reply.' },
);

export const ChatStreamDelta = event(
  'ChatStreamDelta',
  'delta',
  ref(ChatStreamText),
  'A piece of the reply.',
);

export const ChatStreamDone = event(
  'ChatStreamDone',
  'done',
  ref(ChatReply),
  'The last event of a complete reply, with the whole reply. The turn is already stored.',
);

export const ChatStreamError = event(
  'ChatStreamError',
  'error',
  ref(ErrorResponse),
  'The last event of an incomplete reply.',
);

export const ChatStreamEvent = Type.Unsafe<never>({
  $id: 'ChatStreamEvent',
  oneOf: [ref(ChatStreamStart), ref(ChatStreamDelta), ref(ChatStreamDone), ref(ChatStreamError)],
  discriminator: {
    propertyName: 'event',
    mapping: {
      start: '#/components/schemas/ChatStreamStart',
      delta: '#/components/schemas/ChatStreamDelta',
      done: '#/components/schemas/ChatStreamDone',
      error: '#/components/schemas/ChatStreamError',
    },
  },
  description: 'An event of a streamed reply. Lines that begin with a colon are comments.',
});
