/** The request log: contract sections 1 and 5. */
import { Type } from '@sinclair/typebox';
import { Count, Cursor, limitTo, NextCursor, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';
import { Meter } from './plans.ts';

/** The endpoint of charges that an account of the same e-mail address made earlier that day. */
export const CARRIED_OVER = 'carriedOver';

export const requestStates = ['admitted', 'final', 'refunded', 'refused'] as const;

export const RequestState = stringEnum(requestStates, {
  $id: 'RequestState',
  description:
    '`admitted`: charged, under way. `final`: charged, answered. `refunded`: it failed, and the charge was given back. `refused`: never charged.',
  examples: ['final'],
});

export const LoggedRequestKind = stringEnum(['request', 'refusals'], {
  $id: 'LoggedRequestKind',
  description:
    '`request`: one request that was charged. `refusals`: requests that were refused without a charge, counted by minute, key and code.',
});

export const LoggedRequest = Type.Object(
  {
    id: Uuid(
      'The `X-Request-Id` of the request that was charged; of refusals, which are counted, an id that stays the same.',
    ),
    kind: ref(LoggedRequestKind),
    at: Timestamp('When it was admitted; of refusals the beginning of their minute.'),
    key_id: nullable(Uuid(''), { description: 'The key; null for the web.' }),
    endpoint: nullable(Type.String({ maxLength: 200 }), {
      description:
        'Method and path; null for refusals. `carriedOver`: units that a deleted account with this e-mail address used earlier that day.',
      examples: ['POST /api/v1/chat'],
    }),
    meter: nullable(ref(Meter), {
      description: 'The quota that it draws on; null for refusals.',
      examples: ['chat'],
    }),
    units: Count('How many units were charged; 0 for refusals.', [1]),
    state: ref(RequestState),
    status: nullable(Type.Integer({ minimum: 100, maximum: 599, format: 'int32' }), {
      description: 'The HTTP status; null while it is under way, and where `endpoint` is `carriedOver`.',
      examples: [200],
    }),
    code: nullable(Type.String({ maxLength: 100 }), {
      description: 'The error code, where it ended in an error.',
      examples: [null],
    }),
    model: nullable(Type.String({ maxLength: 1000 }), {
      description: 'The model that answered.',
      examples: ['parley-builtin'],
    }),
    input_tokens: nullable(Count(''), { description: 'Tokens in, when known.' }),
    output_tokens: nullable(Count(''), { description: 'Tokens out, when known.' }),
    latency_ms: nullable(Count(''), { description: 'Milliseconds from the charge to its end.' }),
    count: Count('How many requests the row stands for: 1, but for refusals.', [1]),
  },
  { $id: 'LoggedRequest', additionalProperties: false, description: 'A row of the request log.' },
);

export const RequestLog = Type.Object(
  {
    data: Type.Array(ref(LoggedRequest), { maxItems: 200, description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'RequestLog', additionalProperties: false, description: 'A page of the request log.' },
);

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

export const RequestLogQuery = Type.Object(
  {
    limit: limitTo(200, 50),
    cursor: Type.Optional(Cursor),
    id: Type.Optional(
      Uuid(
        'The one request that was answered with this `X-Request-Id`. Requests that were not charged have no row.',
      ),
    ),
    key_id: Type.Optional(
      Type.String({
        pattern: `^(web|${UUID})$`,
        maxLength: 36,
        description: 'Requests of one key, or `web`.',
        examples: ['web'],
      }),
    ),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          'Requests to one endpoint, method and path, or `carriedOver`. Refusals are counted without their endpoint and left out.',
        examples: ['POST /api/v1/chat'],
      }),
    ),
    status: Type.Optional(
      Type.String({
        pattern: '^[1-5]([0-9]{2}|xx)$',
        minLength: 3,
        maxLength: 3,
        description: 'A status (`429`) or a class of them (`4xx`).',
        examples: ['429'],
      }),
    ),
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'Nothing before it.',
        examples: ['2026-11-20T00:00:00.000Z'],
      }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'Only what is before it.',
        examples: ['2026-11-21T00:00:00.000Z'],
      }),
    ),
  },
  { additionalProperties: false },
);
