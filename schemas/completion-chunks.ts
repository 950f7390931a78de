/** Chunks of a streamed chat completion in the shape of OpenAI's API: contract section 7. */
import { Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringEnum } from './common.ts';
import { CompletionUsage } from './completions.ts';
import { ErrorResponse } from './errors.ts';

export const CompletionDelta = Type.Object(
  {
    role: Type.Optional(
      stringEnum(['assistant'] as const, { description: 'In the first chunk of a choice.' }),
    ),
    content: Type.Optional(
      nullable(Type.String({ maxLength: 10_000_000 }), {
        description: 'The next piece of text.',
        examples: ['Open '],
      }),
    ),
    refusal: Type.Optional(
      nullable(Type.String({ maxLength: 10_000_000 }), {
        description: 'The next piece of a refusal.',
        examples: [null],
      }),
    ),
  },
  { $id: 'CompletionDelta', additionalProperties: true, description: 'What a chunk adds to a choice.' },
);

export const CompletionChunkChoice = Type.Object(
  {
    index: Count('Which choice.', [0]),
    delta: ref(CompletionDelta),
    logprobs: Type.Unsafe<unknown>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Log probabilities, where asked for and known.',
      examples: [null],
    }),
    finish_reason: nullable(Type.String({ maxLength: 60 }), {
      description: 'Why the choice ended; null until it did.',
      examples: [null],
    }),
  },
  { $id: 'CompletionChunkChoice', additionalProperties: true, description: 'The next piece of one answer.' },
);

export const CompletionChunk = Type.Object(
  {
    id: Type.String({ maxLength: 200, description: "The completion's id, the same in every chunk." }),
    object: stringEnum(['chat.completion.chunk'] as const, {
      description: 'Always `chat.completion.chunk`.',
    }),
    created: Count('Unix time in seconds.', [1763596800]),
    model: Type.String({
      maxLength: 200,
      description: 'The model that answers.',
      examples: ['parley-builtin'],
    }),
    system_fingerprint: nullable(Type.String({ maxLength: 200 }), {
      description: "The model's configuration, where known.",
      examples: [null],
    }),
    choices: Type.Array(ref(CompletionChunkChoice), {
      maxItems: 8,
      description: 'Pieces of the answers; none in the chunk with `usage`.',
    }),
    usage: Type.Optional(
      nullable(ref(CompletionUsage), { description: 'In the last chunk, where asked for.' }),
    ),
  },
  {
    $id: 'CompletionChunk',
    additionalProperties: true,
    description: "A chunk of OpenAI's streamed chat completion.",
  },
);

/** An event of a streamed completion: OpenAI's have no names. */
export const CompletionStreamEvent = Type.Object(
  {
    data: Type.Unsafe<never>({
      anyOf: [ref(CompletionChunk), ref(ErrorResponse), { type: 'string', enum: ['[DONE]'] }],
      description:
        'JSON, but for the last: `[DONE]`. An answer that breaks off ends with the error envelope and no `[DONE]`.',
    }),
  },
  {
    $id: 'CompletionStreamEvent',
    additionalProperties: false,
    description: 'An event of a streamed completion.',
  },
);
