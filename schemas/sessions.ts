/** An account's sessions: contract sections 1 and 9. */
import { Type } from '@sinclair/typebox';
import { idParams, ref, Timestamp, Uuid } from './common.ts';

export const Session = Type.Object(
  {
    id: Uuid("The session's ID, for ending the session. It is not the value of the cookie."),
    current: Type.Boolean({ description: 'Whether this session sent the request.', examples: [true] }),
    created_at: Timestamp('When the session started.'),
    last_seen_at: Timestamp('When the session was last used, accurate to the hour.'),
    address: Type.String({
      maxLength: 64,
      description: 'The network address at sign-in.',
      examples: ['192.0.2.7'],
    }),
    user_agent: Type.String({
      maxLength: 300,
      description: 'The `User-Agent` at sign-in; may be empty.',
      examples: ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'],
    }),
  },
  { $id: 'Session', additionalProperties: false, description: 'A session of the account.' },
);

export const SessionParams = idParams("The session's ID.");

export const SessionList = Type.Object(
  { data: Type.Array(ref(Session), { maxItems: 500, description: 'Newest first.' }) },
  { $id: 'SessionList', additionalProperties: false, description: 'The sessions of the account.' },
);
