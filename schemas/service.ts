/** Public information about this installation, and its health: contract section 1. */
import { Type } from '@sinclair/typebox';
import { nullable, ref, stringConst, stringEnum } from './common.ts';

export const EngineKind = stringEnum(['builtin', 'upstream'], {
  $id: 'EngineKind',
  description: 'The engine: built in, or a server that the operator configured.',
});

export const EngineInfo = Type.Object(
  {
    chat: ref(EngineKind, { description: 'The engine for chat.' }),
    images: ref(EngineKind, { description: 'The engine for images.' }),
    search: ref(EngineKind, { description: 'The engine for search.' }),
    embeddings: ref(EngineKind, { description: 'The engine for embeddings.' }),
    default_model: nullable(Type.String({ maxLength: 200 }), {
      description: 'The default model.',
      examples: ['parley-builtin'],
    }),
  },
  { $id: 'EngineInfo', additionalProperties: false, description: 'The engines in use.' },
);

export const SignUps = stringEnum(['open', 'closed'], {
  $id: 'SignUps',
  description: 'Whether sign-ups are open.',
});

export const Billing = stringEnum(['open', 'managed'], {
  $id: 'Billing',
  description: 'Who can change plans: account owners (`open`) or only the operator (`managed`).',
});

export const Service = Type.Object(
  {
    version: Type.String({ maxLength: 40, description: 'The version of the service.', examples: ['0.1.0'] }),
    signups: ref(SignUps),
    billing: ref(Billing),
    operator_contact: nullable(Type.String({ maxLength: 500 }), {
      description: 'How to contact the operator.',
      examples: ['ops@example.com'],
    }),
    engine: ref(EngineInfo),
  },
  { $id: 'Service', additionalProperties: false, description: 'Information about this service.' },
);

export const Health = Type.Object(
  { status: stringConst('ok', { description: 'Always `ok`. Any other response is an error.' }) },
  { $id: 'Health', additionalProperties: false, description: 'The process is healthy.' },
);
