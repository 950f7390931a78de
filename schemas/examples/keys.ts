import {
  ApiKey,
  ApiKeyList,
  CreateApiKey,
  CreatedApiKey,
  EXAMPLE_KEY,
  ReportLeakedKeys,
  RotateApiKey,
  UpdateApiKey,
} from '../keys.ts';
import { at, example, ids, type OperationExamples } from './example.ts';

const origins = ['https://app.example.com'];
const browserKey = {
  id: ids.key,
  name: 'Website',
  scopes: ['chat', 'search'] as ('chat' | 'search')[],
  allowed_origins: origins,
  key_prefix: EXAMPLE_KEY.slice(0, 15),
  created_at: at('09:31:42.845'),
  last_used_at: at('13:45:00.000'),
  expires_at: null,
  previous_secret_expires_at: null,
};
const listed = { ...browserKey, revoked_at: null };
const unused = { ...browserKey, last_used_at: null };

export const keyExamples: Record<string, OperationExamples> = {
  listKeys: {
    responses: {
      one: example(ApiKeyList, 'One active key', { data: [listed] }),
      inactive: example(ApiKeyList, 'One revoked key', {
        data: [{ ...listed, revoked_at: at('14:02:11.309') }],
      }),
    },
  },
  createKey: {
    requests: {
      browser: example(CreateApiKey, 'Browser key for a website', {
        name: 'Website',
        scopes: ['chat', 'search'],
        allowed_origins: origins,
      }),
      server: example(CreateApiKey, 'Server key that expires at the end of the year', {
        name: 'Nightly report',
        scopes: ['chat', 'usage'],
        expires_at: '2099-12-31T23:59:59.000Z',
      }),
    },
    responses: {
      created: example(CreatedApiKey, 'The new key, with its raw value (shown once)', {
        ...unused,
        key: EXAMPLE_KEY,
      }),
    },
  },
  updateKey: {
    requests: {
      add: example(UpdateApiKey, 'Two origins', {
        allowed_origins: [...origins, 'https://staging.example.com:8443'],
      }),
      none: example(UpdateApiKey, 'For servers only', { allowed_origins: [] }),
    },
    responses: {
      key: example(ApiKey, 'The key', {
        ...listed,
        allowed_origins: [...origins, 'https://staging.example.com:8443'],
      }),
    },
  },
  rotateKey: {
    requests: {
      grace: example(RotateApiKey, 'The old secret works for another hour', { grace_seconds: 3600 }),
      atOnce: example(RotateApiKey, 'The old secret stops working immediately', {}),
    },
    responses: {
      rotated: example(CreatedApiKey, 'The rotated key, with its new raw value (shown once)', {
        ...browserKey,
        key: EXAMPLE_KEY,
      }),
    },
  },
  reportLeakedKeys: {
    requests: { found: example(ReportLeakedKeys, 'One leaked key', { keys: [EXAMPLE_KEY] }) },
  },
};
