/** Images, compatible with OpenAI's API: contract section 7. */
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
      description: 'A description of the image.',
      examples: ['A lighthouse at dusk'],
    }),
    n: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: 4, format: 'int32' }), {
        description: 'The number of images. Each one is charged.',
        examples: [1],
      }),
    ),
    size: Type.Optional(
      nullable(stringEnum(imageSizes), {
        description: 'Width and height in pixels. An engine may not support all sizes.',
        examples: ['1024x1024'],
      }),
    ),
    response_format: Type.Optional(
      nullable(stringEnum(['b64_json', 'url'] as const), {
        description: 'Only `b64_json`: the service does not store images, so it cannot return URLs.',
        examples: ['b64_json'],
      }),
    ),
    output_format: Type.Optional(
      nullable(stringEnum(['png', 'jpeg', 'webp'] as const), {
        description: 'The file type. The built-in engine supports only `png`.',
        examples: ['png'],
      }),
    ),
    output_compression: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: 100, format: 'int32' }), {
        description: 'The compression of a `jpeg` or `webp` file, in percent.',
        examples: [100],
      }),
    ),
    model: optional('dall-e-3', 'The model to use, unless the operator configured one.'),
    quality: optional('auto', 'Applies if the engine supports it.'),
    style: optional('vivid', 'Applies if the engine supports it.'),
    background: optional('auto', 'Applies if the engine supports it.'),
    moderation: optional('auto', 'Applies if the engine supports it.'),
    user: optional('user-1', 'Your identifier for the end user.'),
  },
  {
    $id: 'ImageRequest',
    additionalProperties: false,
    description: 'An OpenAI image generation request.',
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
        description: 'The prompt as revised by the model, if it reports one.',
        examples: ['A lighthouse at dusk, in oil'],
      }),
    ),
  },
  { $id: 'GeneratedImage', additionalProperties: false, description: 'A generated image.' },
);

export const ImageList = Type.Object(
  {
    created: Count('Unix time in seconds.', [1763596800]),
    data: Type.Array(ref(GeneratedImage), { maxItems: 4, description: 'The `n` images.' }),
  },
  { $id: 'ImageList', additionalProperties: false, description: 'The generated images.' },
);
