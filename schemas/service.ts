/** What anybody may know about this installation, and its health: contract section 1. */
import { Type } from '@sinclair/typebox';
import { nullable, ref, stringEnum } from './common.ts';

const engineKind = (what: string) =>
  stringEnum(['builtin', 'upstream'] as const, { description: `Who answers ${what}.` });

export const EngineInfo = Type.Object(
  {
    chat: engineKind('chats'),
    images: engineKind('image requests'),
    search: engineKind('searches'),
    default_model: nullable(Type.String({ maxLength: 200 }), {
      description: 'The model that answers when none is named.',
      examples: ['parley-builtin'],
    }),
  },
  { $id: 'EngineInfo', additionalProperties: false, description: 'Which engines answer.' },
);

export const Service = Type.Object(
  {
    version: Type.String({ maxLength: 40, description: 'The version of the service.', examples: ['0.1.0'] }),
    signups: stringEnum(['open', 'closed'] as const, { description: 'Whether anybody may sign up.' }),
    billing: stringEnum(['open', 'managed'] as const, {
      description: 'Whether owners change their own plan.',
    }),
    operator_contact: nullable(Type.String({ maxLength: 500 }), {
      description: 'Where to reach the operator.',
      examples: ['ops@example.com'],
    }),
    engine: ref(EngineInfo),
  },
  { $id: 'Service', additionalProperties: false, description: 'What the sign-up page needs to know.' },
);

export const Health = Type.Object(
  { status: stringEnum(['ok'] as const, { description: 'Always `ok`; anything else is an error.' }) },
  { $id: 'Health', additionalProperties: false, description: 'The process is healthy.' },
);
