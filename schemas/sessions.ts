/** Where an account is signed in: contract sections 1 and 9. */
import { Type } from '@sinclair/typebox';
import { idParams, ref, Timestamp, Uuid } from './common.ts';

export const Session = Type.Object(
  {
    id: Uuid("The session's id, to end it by; not what the cookie holds."),
    current: Type.Boolean({ description: 'Whether it is the session of this request.', examples: [true] }),
    created_at: Timestamp('When it began.'),
    last_seen_at: Timestamp('When it was last used, accurate to an hour.'),
    address: Type.String({
      maxLength: 64,
      description: 'The network address that it began from.',
      examples: ['192.0.2.7'],
    }),
    user_agent: Type.String({
      maxLength: 300,
      description: 'The `User-Agent` that it began with; may be empty.',
      examples: ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'],
    }),
  },
  { $id: 'Session', additionalProperties: false, description: 'A place where the account is signed in.' },
);

export const SessionParams = idParams("The session's id.");

export const SessionList = Type.Object(
  { data: Type.Array(ref(Session), { maxItems: 500, description: 'Newest first.' }) },
  { $id: 'SessionList', additionalProperties: false, description: 'Where the account is signed in.' },
);
