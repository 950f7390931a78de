/** The log of operators' changes. Contract section 17. */
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

export const operatorActions = [
  'accountCreated',
  'accountSuspended',
  'accountResumed',
  'accountDeleted',
  'planChanged',
  'passwordReset',
  'keyRevoked',
] as const;
export type OperatorAction = (typeof operatorActions)[number];
export const OperatorAction = stringEnum(operatorActions, {
  $id: 'OperatorAction',
  ...extensible,
  description: 'What an operator did. New values may be added.',
});

export const OperatorLogEntry = Type.Object(
  {
    id: Uuid("The entry's ID."),
    at: Timestamp('When it happened.'),
    operator_id: nullable(Uuid(''), {
      description: "The operator's account; null for the command line.",
    }),
    operator_email: nullable(Type.String({ maxLength: 254 }), {
      description: "The operator's email address at that time; null for the command line.",
      examples: ['ops@example.com'],
    }),
    action: ref(OperatorAction),
    account_id: Uuid('The account that was changed.'),
    account_email: Type.String({
      maxLength: 254,
      description: 'Its email address at that time.',
      examples: ['ada@example.com'],
    }),
    detail: nullable(Type.String({ maxLength: 300 }), {
      description: 'A short detail, such as a plan or the prefix of a key. Never a secret.',
      examples: ['plus, yearly'],
    }),
    address: nullable(Type.String({ maxLength: 64 }), {
      description: 'The network address of the request; null for the command line.',
      examples: ['192.0.2.7'],
    }),
    user_agent: nullable(Type.String({ maxLength: 300 }), {
      description: 'The `User-Agent` of the request; null for the command line.',
      examples: ['Mozilla/5.0'],
    }),
  },
  { $id: 'OperatorLogEntry', additionalProperties: false, description: 'An entry in the operator log.' },
);

export const OperatorLog = Type.Object(
  {
    data: Type.Array(ref(OperatorLogEntry), { maxItems: 200, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'OperatorLog', additionalProperties: false, description: 'A page of the operator log.' },
);

export const OperatorLogQuery = Type.Object(
  { limit: limitTo(200, 50), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

export const OperatorLogFile = Type.String({
  $id: 'OperatorLogFile',
  maxLength: 2_147_483_647,
  description: 'One `OperatorLogEntry` as JSON per line, newest first.',
  examples: ['{"id":"01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f","action":"accountSuspended"}\n'],
});
