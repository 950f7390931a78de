/** The events of a streamed reply: contract section 7. `data` is sent as JSON. */
import { type TSchema, Type } from '@sinclair/typebox';
import { ChatReply } from './chat.ts';
import { nullable, ref, stringEnum, Uuid } from './common.ts';
import { ErrorResponse } from './errors.ts';

const event = <const Name extends string, Data extends TSchema>(
  $id: string,
  name: Name,
  data: Data,
  description: string,
) =>
  Type.Object(
    { event: stringEnum([name], { description: `Always \`${name}\`.` }), data },
    { $id, additionalProperties: false, description },
  );

export const ChatStreamStart = event(
  'ChatStreamStart',
  'start',
  Type.Object(
    {
      id: Uuid("The reply's id."),
      conversation_id: nullable(Uuid(''), { description: 'Pass it to continue; null with `store: false`.' }),
      model: Type.String({
        maxLength: 200,
        description: 'The model that answers.',
        examples: ['parley-builtin'],
      }),
    },
    { additionalProperties: false, description: 'What is known already.' },
  ),
  'The first event.',
);

export const ChatStreamDelta = event(
  'ChatStreamDelta',
  'delta',
  Type.Object(
    { text: Type.String({ maxLength: 10_000_000, description: 'What follows.', examples: ['Open '] }) },
    { additionalProperties: false, description: 'The next piece of the reply.' },
  ),
  'A piece of the reply.',
);

export const ChatStreamDone = event(
  'ChatStreamDone',
  'done',
  ref(ChatReply),
  'The last event of a reply that is whole: all of it. The turn has been stored.',
);

export const ChatStreamError = event(
  'ChatStreamError',
  'error',
  ref(ErrorResponse),
  'The last event of a reply that broke off.',
);

export const ChatStreamEvent = Type.Unsafe<never>({
  $id: 'ChatStreamEvent',
  anyOf: [ref(ChatStreamStart), ref(ChatStreamDelta), ref(ChatStreamDone), ref(ChatStreamError)],
  description: 'An event of a streamed reply. Lines that begin with a colon are comments.',
});
