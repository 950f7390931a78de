/** Images in the shape of OpenAI's API: contract section 7. */
import { Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringEnum } from './common.ts';

export const imageSizes = [
  'auto',
  '256x256',
  '512x512',
  '1024x1024',
  '1024x1536',
  '1536x1024',
  '1024x1792',
  '1792x1024',
] as const;

const optional = (name: string, description: string) =>
  Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 200 }), { description, examples: [name] }));

export const ImageRequest = Type.Object(
  {
    prompt: Type.String({
      minLength: 1,
      maxLength: 32_000,
      description: 'What the picture shows.',
      examples: ['A lighthouse at dusk'],
    }),
    n: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: 4, format: 'int32' }), {
        description: 'How many pictures; each is charged.',
        examples: [1],
      }),
    ),
    size: Type.Optional(
      nullable(stringEnum(imageSizes), {
        description: 'Width and height in pixels; an engine may not have all of them.',
        examples: ['1024x1024'],
      }),
    ),
    response_format: Type.Optional(
      nullable(stringEnum(['b64_json', 'url'] as const), {
        description: 'Only `b64_json`: pictures are not kept, so that there is no URL for them.',
        examples: ['b64_json'],
      }),
    ),
    output_format: Type.Optional(
      nullable(stringEnum(['png', 'jpeg', 'webp'] as const), {
        description: 'The type of the file; the built-in engine draws `png` only.',
        examples: ['png'],
      }),
    ),
    output_compression: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: 100, format: 'int32' }), {
        description: 'How much a `jpeg` or `webp` is compressed, in percent.',
        examples: [100],
      }),
    ),
    model: optional('dall-e-3', 'Which model draws, where the operator has not settled that.'),
    quality: optional('auto', 'As far as the engine makes use of it.'),
    style: optional('vivid', 'As far as the engine makes use of it.'),
    background: optional('auto', 'As far as the engine makes use of it.'),
    moderation: optional('auto', 'As far as the engine makes use of it.'),
    user: optional('user-1', 'Your own name for the person who asks.'),
  },
  {
    $id: 'ImageRequest',
    additionalProperties: false,
    description: "The body of OpenAI's image generations.",
  },
);

export const GeneratedImage = Type.Object(
  {
    b64_json: Type.String({
      maxLength: 100_000_000,
      description: 'The file, in Base64.',
      examples: ['iVBORw0KGgo='],
    }),
    revised_prompt: Type.Optional(
      Type.String({
        maxLength: 100_000,
        description: 'What the model made of the prompt, where it says.',
        examples: ['A lighthouse at dusk, in oil'],
      }),
    ),
  },
  { $id: 'GeneratedImage', additionalProperties: false, description: 'A picture.' },
);

export const ImageList = Type.Object(
  {
    created: Count('Unix time in seconds.', [1763596800]),
    data: Type.Array(ref(GeneratedImage), { maxItems: 4, description: 'The pictures, `n` of them.' }),
  },
  { $id: 'ImageList', additionalProperties: false, description: 'The pictures that were asked for.' },
);
