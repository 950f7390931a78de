/** The request log: contract sections 1 and 5. */
import { Type } from '@sinclair/typebox';
import { Count, Cursor, limitTo, NextCursor, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';
import { Meter } from './plans.ts';

/** The endpoint of charges that carry over today's usage from an earlier account with the same email address. */
export const CARRIED_OVER = 'carriedOver';

export const requestStates = ['admitted', 'final', 'refunded', 'refused'] as const;

export const RequestState = stringEnum(requestStates, {
  $id: 'RequestState',
  description:
    '`admitted`: charged and in progress. `final`: charged and complete. `refunded`: failed and refunded. `refused`: never charged.',
  examples: ['final'],
});

export const LoggedRequestKind = stringEnum(['request', 'refusals'], {
  $id: 'LoggedRequestKind',
  description:
    '`request`: one charged request. `refusals`: requests refused without a charge, counted by minute, key, and code.',
});

export const LoggedRequest = Type.Object(
  {
    id: Uuid('The `X-Request-Id` of a charged request, or a stable ID for a row of refusals.'),
    kind: ref(LoggedRequestKind),
    at: Timestamp('When the request was admitted; for refusals, the start of their minute.'),
    key_id: nullable(Uuid(''), { description: 'The key; null for the web.' }),
    endpoint: nullable(Type.String({ maxLength: 200 }), {
      description:
        'Method and path; null for refusals. `carriedOver` counts units that a deleted account with this email address used earlier that day.',
      examples: ['POST /api/v1/chat'],
    }),
    meter: nullable(ref(Meter), {
      description: 'The quota that the request counts toward; null for refusals.',
      examples: ['chat'],
    }),
    units: Count('The number of units charged; 0 for refusals.', [1]),
    state: ref(RequestState),
    status: nullable(Type.Integer({ minimum: 100, maximum: 599, format: 'int32' }), {
      description:
        'The HTTP status; null while the request is in progress or if `endpoint` is `carriedOver`.',
      examples: [200],
    }),
    code: nullable(Type.String({ maxLength: 100 }), {
      description: 'The error code, if the request failed.',
      examples: [null],
    }),
    model: nullable(Type.String({ maxLength: 1000 }), {
      description: 'The model that generated the response.',
      examples: ['parley-builtin'],
    }),
    input_tokens: nullable(Count(''), { description: 'Input tokens, if known.' }),
    output_tokens: nullable(Count(''), { description: 'Output tokens, if known.' }),
    latency_ms: nullable(Count(''), {
      description: 'Milliseconds from the charge to the end of the request.',
    }),
    first_output_ms: nullable(Count(''), {
      description: 'Milliseconds from the charge to the first output of a stream.',
    }),
    cached_tokens: nullable(Count(''), {
      description: 'Input tokens read from a cache, if the model reports them.',
    }),
    reasoning_tokens: nullable(Count(''), {
      description: 'Output tokens used for reasoning, if the model reports them.',
    }),
    attempts: nullable(Count(''), {
      description: 'The number of model servers tried, if the operator configured several.',
    }),
    count: Count('The number of requests in the row: 1, except for refusals.', [1]),
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

const filters = {
  id: Type.Optional(
    Uuid(
      'Only the request with this `X-Request-Id`. Requests that were not charged have no row of their own.',
    ),
  ),
  key_id: Type.Optional(
    Type.String({
      pattern: `^(web|${UUID})$`,
      maxLength: 36,
      description: 'Only requests made with this key; `web` for requests from the web.',
      examples: ['web'],
    }),
  ),
  endpoint: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only requests to this endpoint (method and path), or `carriedOver`. Excludes refusals, whose endpoint is not recorded.',
      examples: ['POST /api/v1/chat'],
    }),
  ),
  model: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only requests answered by this model. Excludes refusals, which have no model.',
      examples: ['parley-builtin'],
    }),
  ),
  status: Type.Optional(
    Type.String({
      pattern: '^[1-5]([0-9]{2}|xx)$',
      minLength: 3,
      maxLength: 3,
      description: 'A status (`429`) or a class of statuses (`4xx`).',
      examples: ['429'],
    }),
  ),
  from: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Only rows at or after this time.',
      examples: ['2026-11-20T00:00:00.000Z'],
    }),
  ),
  to: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Only rows before this time.',
      examples: ['2026-11-21T00:00:00.000Z'],
    }),
  ),
};

const closed = { additionalProperties: false } as const;

export const RequestLogFilters = Type.Object(filters, closed);

export const RequestLogQuery = Type.Object(
  { limit: limitTo(200, 50), cursor: Type.Optional(Cursor), ...filters },
  closed,
);

export const RequestExportQuery = Type.Object(
  {
    format: Type.Optional(
      stringEnum(['csv', 'json'], {
        description: 'The format of the file. Defaults to `json`.',
        examples: ['csv'],
      }),
    ),
    ...filters,
  },
  closed,
);

/** Parley sets no limit, so this is the largest number that every client can represent. */
const MAX_IN_A_FILE = 2_147_483_647;

export const RequestCsv = Type.String({
  $id: 'RequestCsv',
  maxLength: MAX_IN_A_FILE,
  description: 'A header row, then the rows of the log.',
  examples: ['time_utc,kind,count,endpoint\r\n'],
});

export const RequestExport = Type.Object(
  {
    data: Type.Array(ref(LoggedRequest), {
      maxItems: MAX_IN_A_FILE,
      description: 'All matching rows, newest first.',
    }),
  },
  {
    $id: 'RequestExport',
    additionalProperties: false,
    description: 'All matching rows of the request log.',
  },
);
