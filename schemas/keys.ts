/** API keys: service document section 2, contract sections 2 and 3. */
import { Type } from '@sinclair/typebox';
import {
  documentedPattern,
  extensible,
  idParams,
  nullable,
  ref,
  stringEnum,
  Timestamp,
  Uuid,
} from './common.ts';
import { MAX_ACTIVE_KEYS, MAX_INACTIVE_KEYS, MAX_ORIGINS } from './key-limits.ts';

/** Looks like a key, but has a wrong checksum, so that secret scanners ignore it. */
export const EXAMPLE_KEY = 'parley_4Fq0ZkT9_ThisIsNotAKeyItOnlyLooksLikeOneItsChecksumIsWrong';

export const scopes = ['chat', 'images', 'search', 'usage', 'models'] as const;
export type Scope = (typeof scopes)[number];

export const Scope = stringEnum(scopes, {
  $id: 'Scope',
  description: 'A permission of a key.',
  examples: ['chat'],
  ...extensible,
});

const name = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A label for the key. Surrounding whitespace is removed.',
  examples: ['Website'],
});
const keyScopes = Type.Array(ref(Scope), {
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description: 'The permissions of the key.',
  ...extensible,
});

/** A DNS name whose labels have no characters that URLs forbid, an IPv4 address, or an IPv6 address, and a port. */
const origin =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that URLs forbid.
  /^[Hh][Tt][Tt][Pp][Ss]:\/\/(?:\[[0-9A-Fa-f:.]+\]|[^\s\x00-\x1f\x7f-\x9f/\\?#@:*%<>[\]^|.]+(?:\.[^\s\x00-\x1f\x7f-\x9f/\\?#@:*%<>[\]^|.]+)*)(?::[0-9]{1,5})?$/;

const allowedOrigins = Type.Array(
  Type.String({
    ...documentedPattern(origin),
    maxLength: 300,
    description: 'An https origin: host and optional port, nothing else.',
    examples: ['https://app.example.com'],
  }),
  {
    maxItems: MAX_ORIGINS,
    description:
      "The https origins whose pages can use this key, in the form that browsers send. If empty, only servers and the service's own pages can use the key.",
  },
);
const expiresAt = nullable(Type.String({ format: 'date-time', maxLength: 40 }), {
  description: 'When the key expires; null for never. Must be in the future.',
  examples: ['2027-01-01T00:00:00.000Z'],
});
const keyPrefix = Type.String({
  pattern: '^parley_[0-9A-Za-z]{8}$',
  maxLength: 15,
  description: 'The start of the key, the only part shown after creation.',
  examples: ['parley_4Fq0ZkT9'],
});

const keyFields = {
  id: Uuid("The key's ID."),
  name,
  scopes: keyScopes,
  allowed_origins: allowedOrigins,
  key_prefix: keyPrefix,
  created_at: Timestamp('When the key was created.'),
  last_used_at: nullable(Timestamp(''), {
    description: 'When the key was last used, accurate to the minute; null if never.',
  }),
  expires_at: expiresAt,
  previous_secret_expires_at: Type.Optional(
    nullable(Timestamp(''), {
      description:
        'When the secret replaced by the last rotation stops working; null if no old secret works.',
      examples: [null],
    }),
  ),
};

export const ApiKey = Type.Object(
  {
    ...keyFields,
    revoked_at: Type.Optional(
      nullable(Timestamp(''), { description: 'When the key was revoked; null if never.', examples: [null] }),
    ),
  },
  { $id: 'ApiKey', additionalProperties: false, description: 'An API key, without its secret.' },
);

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
  {
    data: Type.Array(ref(ApiKey), {
      maxItems: MAX_INACTIVE_KEYS,
      description: `Up to ${MAX_ACTIVE_KEYS} active keys, newest first; or inactive keys, most recently expired or revoked first.`,
      ...extensible,
    }),
  },
  { $id: 'ApiKeyList', additionalProperties: false, description: "The account's active or inactive keys." },
);

export const ListKeysQuery = Type.Object(
  {
    status: Type.Optional(
      stringEnum(['active', 'inactive'], {
        default: 'active',
        description: `\`active\` for keys that work, or \`inactive\` for keys that expired or were revoked: the last ${MAX_INACTIVE_KEYS}. Parley deletes keys a year after they expire or are revoked.`,
      }),
    ),
  },
  { additionalProperties: false },
);

export const KeyParams = idParams("The key's ID.");

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
    description: 'The name, permissions, and restrictions of the new key.',
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
        description: 'How long the old secret keeps working alongside the new one; at most 7 days.',
        examples: [3600],
      }),
    ),
  },
  {
    $id: 'RotateApiKey',
    additionalProperties: false,
    description: 'How long the old secret keeps working.',
  },
);

export const ReportLeakedKeys = Type.Object(
  {
    keys: Type.Array(
      Type.String({
        maxLength: 200,
        description: 'A raw key, exactly as found.',
        examples: [EXAMPLE_KEY],
      }),
      {
        minItems: 1,
        maxItems: 20,
        description: 'Raw keys. Other strings are ignored.',
      },
    ),
  },
  {
    $id: 'ReportLeakedKeys',
    additionalProperties: false,
    description: 'Leaked API keys.',
  },
);
