/** Embeddings, compatible with OpenAI's API: contract section 14. */
import { Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringConst, stringEnum, withCommas } from './common.ts';

export const MAX_INPUTS = 2048;
/** Most tokens in one request. */
export const MAX_TOKENS = 300_000;
/** Length of the longest vector. */
export const MAX_DIMENSIONS = 16_384;

const text = { type: 'string', minLength: 1, maxLength: 8_388_608, description: 'One input as text.' };
const tokens = {
  type: 'array',
  items: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    format: 'int32',
    description: "A token of the model's vocabulary.",
  },
  minItems: 1,
  maxItems: MAX_TOKENS,
  description: 'One input as tokens.',
};
const inputs = (items: object, description: string) => ({
  type: 'array',
  items,
  minItems: 1,
  maxItems: MAX_INPUTS,
  description,
});

export const EmbeddingRequest = Type.Object(
  {
    input: Type.Unsafe<string | string[] | number[] | number[][]>({
      anyOf: [
        text,
        inputs(text, 'Several inputs as text.'),
        tokens,
        inputs(tokens, 'Several inputs as tokens.'),
      ],
      description: `The input to embed, or a list of up to ${withCommas(MAX_INPUTS)} inputs. Each one is charged. An input is text or a list of tokens. A request can have up to ${withCommas(MAX_TOKENS)} tokens.`,
      examples: [['How can I create a key?', 'Where are my invoices?']],
    }),
    model: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'The model. Defaults to the one that the operator configured.',
        examples: ['parley-builtin-embeddings'],
      }),
    ),
    encoding_format: Type.Optional(
      nullable(stringEnum(['float', 'base64'] as const), {
        description:
          'How a vector is returned: as numbers (`float`, the default), or as Base64 of little-endian 32-bit floats.',
        examples: ['float'],
      }),
    ),
    dimensions: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: MAX_DIMENSIONS, format: 'int32' }), {
        description:
          'The length of the vectors, if the model supports it. The built-in engine supports 1 to 256.',
        examples: [256],
      }),
    ),
    user: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'Your identifier for the end user.',
        examples: ['user-1'],
      }),
    ),
  },
  { $id: 'EmbeddingRequest', additionalProperties: false, description: 'An OpenAI embeddings request.' },
);

export const Embedding = Type.Object(
  {
    object: stringConst('embedding', { description: 'Always `embedding`.' }),
    index: Count('The position of the input.', [0]),
    embedding: Type.Unsafe<number[] | string>({
      anyOf: [
        {
          type: 'array',
          items: {
            type: 'number',
            format: 'double',
            minimum: -Number.MAX_VALUE,
            maximum: Number.MAX_VALUE,
            description: 'A component.',
          },
          maxItems: MAX_DIMENSIONS,
          description: 'The components.',
        },
        {
          type: 'string',
          maxLength: Math.ceil((MAX_DIMENSIONS * 4) / 3) * 4,
          description: 'The components as little-endian 32-bit floats, in Base64.',
        },
      ],
      description: 'The vector, as numbers or in Base64.',
      examples: [[0.6, 0.8]],
    }),
  },
  { $id: 'Embedding', additionalProperties: false, description: 'The vector of one input.' },
);

export const EmbeddingUsage = Type.Object(
  { prompt_tokens: Count('Tokens of the inputs.'), total_tokens: Count('Equal to `prompt_tokens`.') },
  { $id: 'EmbeddingUsage', additionalProperties: false, description: 'The model tokens used.' },
);

export const EmbeddingList = Type.Object(
  {
    object: stringConst('list', { description: 'Always `list`.' }),
    data: Type.Array(ref(Embedding), {
      maxItems: MAX_INPUTS,
      description: 'A vector per input, in the same order.',
    }),
    model: Type.String({
      maxLength: 200,
      description: 'The model. Only vectors of the same model can be compared.',
      examples: ['parley-builtin-embeddings'],
    }),
    usage: ref(EmbeddingUsage),
  },
  { $id: 'EmbeddingList', additionalProperties: false, description: 'The vectors.' },
);
