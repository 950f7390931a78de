/** API keys: service document section 2, contract sections 2 and 3. */
import { Type } from '@sinclair/typebox';
import { idParams, nullable, ref, stringEnum, Timestamp, Uuid } from './common.ts';

/** It looks like a key, and its checksum does not fit: nobody's scanner takes it for one. */
export const EXAMPLE_KEY = 'parley_4Fq0ZkT9_ThisIsNotAKeyItOnlyLooksLikeOneItsChecksumIsWrong';

export const scopes = ['chat', 'images', 'search', 'usage', 'models'] as const;
export type Scope = (typeof scopes)[number];

export const Scope = stringEnum(scopes, {
  $id: 'Scope',
  description: 'What a key may do.',
  examples: ['chat'],
});

const name = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A label for the key; surrounding white space is dropped.',
  examples: ['Website'],
});
const keyScopes = Type.Array(ref(Scope), {
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description: 'What the key may do.',
});

const allowedOrigins = Type.Array(
  Type.String({
    maxLength: 300,
    description: 'An https origin: host and optional port, nothing else.',
    examples: ['https://app.example.com'],
  }),
  {
    maxItems: 10,
    description:
      "The https origins whose pages may call with this key, as browsers send them. Empty: servers and the service's own pages only.",
  },
);
const expiresAt = nullable(Type.String({ format: 'date-time', maxLength: 40 }), {
  description: 'When the key stops working; null for never. Must lie ahead.',
  examples: ['2027-01-01T00:00:00.000Z'],
});
const keyPrefix = Type.String({
  pattern: '^parley_[0-9A-Za-z]{8}$',
  maxLength: 15,
  description: 'The beginning of the key, the only part shown after creation.',
  examples: ['parley_4Fq0ZkT9'],
});

const keyFields = {
  id: Uuid("The key's id."),
  name,
  scopes: keyScopes,
  allowed_origins: allowedOrigins,
  key_prefix: keyPrefix,
  created_at: Timestamp('When the key was created.'),
  last_used_at: nullable(Timestamp(''), {
    description: 'When the key was last used, to the minute; null until then.',
  }),
  expires_at: expiresAt,
};

export const ApiKey = Type.Object(keyFields, {
  $id: 'ApiKey',
  additionalProperties: false,
  description: 'An active API key, without its secret.',
});

export const CreatedApiKey = Type.Object(
  {
    ...keyFields,
    key: Type.String({
      pattern: '^parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$',
      maxLength: 65,
      description: 'The raw key, returned only here. It cannot be shown again.',
      examples: [EXAMPLE_KEY],
    }),
  },
  {
    $id: 'CreatedApiKey',
    additionalProperties: false,
    description: 'An API key with its new secret, shown exactly once.',
  },
);

export const ApiKeyList = Type.Object(
  { data: Type.Array(ref(ApiKey), { maxItems: 5, description: 'Newest first.' }) },
  { $id: 'ApiKeyList', additionalProperties: false, description: "The account's active keys." },
);

export const KeyParams = idParams("The key's id.");

export const CreateApiKey = Type.Object(
  {
    name,
    scopes: keyScopes,
    allowed_origins: Type.Optional(allowedOrigins),
    expires_at: Type.Optional(expiresAt),
  },
  {
    $id: 'CreateApiKey',
    additionalProperties: false,
    description: 'What the new key is called and what it may do.',
  },
);

export const UpdateApiKey = Type.Object(
  { allowed_origins: allowedOrigins },
  {
    $id: 'UpdateApiKey',
    additionalProperties: false,
    description: 'The new list of allowed origins; it replaces the old one.',
  },
);

export const RotateApiKey = Type.Object(
  {
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: 0,
        format: 'int32',
        description: 'For how long the old secret goes on working beside the new one; at most 7 days.',
        examples: [3600],
      }),
    ),
  },
  {
    $id: 'RotateApiKey',
    additionalProperties: false,
    description: 'How long the old secret lives on.',
  },
);

export const ReportLeakedKeys = Type.Object(
  {
    keys: Type.Array(
      Type.String({
        maxLength: 200,
        description: 'A raw key, as it was found.',
        examples: [EXAMPLE_KEY],
      }),
      {
        minItems: 1,
        maxItems: 20,
        description: 'Raw keys; what is none is passed over.',
      },
    ),
  },
  {
    $id: 'ReportLeakedKeys',
    additionalProperties: false,
    description: 'API keys that were found where they do not belong.',
  },
);
