/** Chunks of a streamed chat completion, compatible with OpenAI's API: contract section 7. */
import { Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringConst } from './common.ts';
import { CompletionUsage, logprobs } from './completions.ts';
import { ErrorResponse } from './errors.ts';

export const CompletionDelta = Type.Object(
  {
    role: Type.Optional(
      stringConst('assistant', {
        description: 'The role of the author. Sent only in the first chunk of a choice.',
      }),
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
  { $id: 'CompletionDelta', additionalProperties: true, description: 'The content to append to a choice.' },
);

export const CompletionChunkChoice = Type.Object(
  {
    index: Count('The index of the choice.', [0]),
    delta: ref(CompletionDelta),
    logprobs,
    finish_reason: nullable(Type.String({ maxLength: 60 }), {
      description: 'The reason that the choice ended; null until then.',
      examples: [null],
    }),
  },
  { $id: 'CompletionChunkChoice', additionalProperties: true, description: 'The next piece of one choice.' },
);

export const CompletionChunk = Type.Object(
  {
    id: Type.String({
      maxLength: 200,
      description: "The completion's ID, the same in every chunk.",
      examples: ['chatcmpl-01932f5e7c1a7b3e9d2f3a5b7c9d1e0f'],
    }),
    object: stringConst('chat.completion.chunk', {
      description: 'Always `chat.completion.chunk`.',
    }),
    created: Count('Unix time in seconds.', [1763596800]),
    model: Type.String({
      maxLength: 200,
      description: 'The model that generates the reply.',
      examples: ['parley-builtin'],
    }),
    system_fingerprint: nullable(Type.String({ maxLength: 200 }), {
      description: "The model's configuration, if known.",
      examples: [null],
    }),
    choices: Type.Array(ref(CompletionChunkChoice), {
      maxItems: 8,
      description: 'Pieces of the choices. Empty in the chunk with `usage`.',
    }),
    usage: Type.Optional(
      nullable(ref(CompletionUsage), {
        description: 'Token usage. Sent only in the last chunk, if requested.',
      }),
    ),
  },
  {
    $id: 'CompletionChunk',
    additionalProperties: true,
    description: "A chunk of a streamed chat completion, in OpenAI's format.",
  },
);

export const CompletionStreamEnd = stringConst('[DONE]', {
  $id: 'CompletionStreamEnd',
  description: 'The end of a complete streamed completion.',
});

export const CompletionStreamEvent = Type.Object(
  {
    data: Type.Unsafe<never>({
      oneOf: [ref(CompletionChunk), ref(ErrorResponse), ref(CompletionStreamEnd)],
      description:
        'JSON, except for the last event, `[DONE]`. An incomplete response ends with the error envelope and no `[DONE]`.',
    }),
  },
  {
    $id: 'CompletionStreamEvent',
    additionalProperties: false,
    description: 'An event of a streamed completion.',
  },
);
