/** The account's audit trail. Contract section 1. */
import { Type } from '@sinclair/typebox';
import {
  Cursor,
  extensible,
  limitTo,
  NextCursor,
  nullable,
  ref,
  stringEnum,
  Timestamp,
  Uuid,
} from './common.ts';

export const accountEventTypes = [
  'accountCreated',
  'signedIn',
  'signInFailed',
  'signedOut',
  'sessionEnded',
  'passwordChanged',
  'passwordReset',
  'emailChanged',
  'keyCreated',
  'keyRotated',
  'previousSecretEnded',
  'keyRevoked',
  'keyReportedLeaked',
  'publicKeyReported',
  'originsChanged',
  'planChanged',
  'webhookChanged',
  'webhookSecretReplaced',
  'webhookDeleted',
  'accountSuspended',
  'accountResumed',
] as const;
export type AccountEventType = (typeof accountEventTypes)[number];
export const AccountEventType = stringEnum(accountEventTypes, {
  $id: 'AccountEventType',
  ...extensible,
  description: 'The type of event. New types may be added.',
  examples: ['signedIn'],
});

export const AccountEvent = Type.Object(
  {
    id: Uuid("The event's ID."),
    at: Timestamp('When it happened.'),
    type: ref(AccountEventType),
    address: nullable(Type.String({ maxLength: 64 }), {
      description: 'The network address of the request; null for actions of the operator.',
      examples: ['192.0.2.7'],
    }),
    user_agent: nullable(Type.String({ maxLength: 300 }), {
      description: 'The `User-Agent` of the request; null for actions of the operator.',
      examples: ['curl/8.16.0'],
    }),
    key_id: nullable(Uuid(''), { description: 'The key that the event concerns.', examples: [null] }),
    detail: nullable(Type.String({ maxLength: 300 }), {
      description:
        'A short detail, such as a plan, an email address, the name of a key, or the host of a webhook.',
      examples: ['plus, yearly'],
    }),
  },
  { $id: 'AccountEvent', additionalProperties: false, description: 'An entry in the audit trail.' },
);

export const AccountEventList = Type.Object(
  {
    data: Type.Array(ref(AccountEvent), { maxItems: 200, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'AccountEventList', additionalProperties: false, description: 'A page of the audit trail.' },
);

export const AccountEventListQuery = Type.Object(
  { limit: limitTo(200, 50), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
