/** What anybody may know about this installation, and its health: contract section 1. */
import { Type } from '@sinclair/typebox';
import { nullable, ref, stringConst, stringEnum } from './common.ts';

export const EngineKind = stringEnum(['builtin', 'upstream'], {
  $id: 'EngineKind',
  description: 'Who answers: the engine that is built in, or a server that the operator has configured.',
});

export const EngineInfo = Type.Object(
  {
    chat: ref(EngineKind, { description: 'Who answers chats.' }),
    images: ref(EngineKind, { description: 'Who draws images.' }),
    search: ref(EngineKind, { description: 'Who answers searches.' }),
    default_model: nullable(Type.String({ maxLength: 200 }), {
      description: 'The model that answers when none is named.',
      examples: ['parley-builtin'],
    }),
  },
  { $id: 'EngineInfo', additionalProperties: false, description: 'Which engines answer.' },
);

export const SignUps = stringEnum(['open', 'closed'], {
  $id: 'SignUps',
  description: 'Whether anybody may sign up.',
});

export const Billing = stringEnum(['open', 'managed'], {
  $id: 'Billing',
  description: 'Who changes plans: owners their own (`open`), or the operator (`managed`).',
});

export const Service = Type.Object(
  {
    version: Type.String({ maxLength: 40, description: 'The version of the service.', examples: ['0.1.0'] }),
    signups: ref(SignUps),
    billing: ref(Billing),
    operator_contact: nullable(Type.String({ maxLength: 500 }), {
      description: 'Where to reach the operator.',
      examples: ['ops@example.com'],
    }),
    engine: ref(EngineInfo),
  },
  { $id: 'Service', additionalProperties: false, description: 'What the sign-up page needs to know.' },
);

export const Health = Type.Object(
  { status: stringConst('ok', { description: 'Always `ok`; anything else is an error.' }) },
  { $id: 'Health', additionalProperties: false, description: 'The process is healthy.' },
);
