/** Chat completions, compatible with OpenAI's API: contract section 7. */
import { type Static, Type } from '@sinclair/typebox';
import { Count, nullable, ref, stringConst, stringEnum } from './common.ts';

/** The body size limit. No string can be longer, so validation never has to count characters. */
const MAX_ASKED = 20 * 1024 * 1024;
const MAX_ANSWERED = 20_000_000;

const text = (description: string, maxLength = MAX_ASKED) =>
  Type.String({ maxLength, description, examples: ['How do I create a key?'] });

export const ContentPart = Type.Object(
  {
    type: Type.String({
      minLength: 1,
      maxLength: 60,
      description: 'The kind of part: `text`, `image_url`, …',
      examples: ['text'],
    }),
    text: Type.Optional(text('The text of a `text` part.')),
  },
  {
    $id: 'ContentPart',
    additionalProperties: true,
    description: 'A part of a message. Other members are passed to the model.',
  },
);

const content = Type.Unsafe<string | null | Static<typeof ContentPart>[]>({
  anyOf: [
    text('Plain text.'),
    { type: 'array', items: { $ref: 'ContentPart#' }, maxItems: 2000, description: 'A list of parts.' },
    { type: 'null' },
  ],
  description: 'Text, or a list of parts; null if an assistant message only calls tools.',
  examples: ['How do I create a key?'],
});

export const completionRoles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

export const CompletionRole = stringEnum(completionRoles, {
  $id: 'CompletionRole',
  description: 'The author of the message.',
  examples: ['user'],
});

export const CompletionMessage = Type.Object(
  {
    role: ref(CompletionRole),
    content: Type.Optional(content),
  },
  {
    $id: 'CompletionMessage',
    additionalProperties: true,
    description: 'A message. Other members are passed to the model.',
  },
);

const maxTokens = (description: string) =>
  Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, format: 'int32' }), {
      description,
      examples: [500],
    }),
  );

export const CompletionStreamOptions = Type.Object(
  {
    include_usage: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'Whether to send a last chunk with the token usage.',
        examples: [true],
      }),
    ),
  },
  {
    $id: 'CompletionStreamOptions',
    additionalProperties: true,
    description: 'Streaming options. Other members are passed to the model.',
  },
);

export const CompletionRequest = Type.Object(
  {
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'A model from `GET /models`. Defaults to the default model.',
        examples: ['parley-builtin'],
      }),
    ),
    messages: Type.Array(ref(CompletionMessage), {
      minItems: 1,
      maxItems: 2000,
      description: 'The conversation so far.',
    }),
    n: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: 8, format: 'int32' }), {
        description: 'The number of choices. Each one is charged.',
        examples: [1],
      }),
    ),
    stream: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'Whether to stream the response as server-sent events.',
        examples: [false],
      }),
    ),
    stream_options: Type.Optional(
      nullable(ref(CompletionStreamOptions), { description: 'Streaming options. Requires `stream`.' }),
    ),
    temperature: Type.Optional(
      nullable(Type.Number({ minimum: 0, maximum: 2 }), {
        description: 'The randomness of the reply.',
        examples: [0.7],
      }),
    ),
    max_tokens: maxTokens('The maximum number of tokens in a choice (older name).'),
    max_completion_tokens: maxTokens('The maximum number of tokens in a choice.'),
  },
  {
    $id: 'CompletionRequest',
    additionalProperties: true,
    description:
      "An OpenAI chat completion request. OpenAI's other fields for sampling, tools, reasoning, and caching (`tools`, `response_format`, …) and vLLM's fields are passed to the model unchanged. Other fields are dropped and listed in `X-Parley-Ignored-Fields`.",
  },
);

export const CompletionAnswer = Type.Object(
  {
    role: stringConst('assistant', { description: 'Always `assistant`.' }),
    content: nullable(text('', MAX_ANSWERED), {
      description: 'The text of the message.',
      examples: ['Open "Your API" and press Create key.'],
    }),
    refusal: nullable(text('', MAX_ANSWERED), {
      description: 'The reason for a refusal, if the model refused.',
      examples: [null],
    }),
  },
  { $id: 'CompletionAnswer', additionalProperties: true, description: 'The message of a choice.' },
);

export const CompletionLogprobs = Type.Object(
  {},
  {
    $id: 'CompletionLogprobs',
    additionalProperties: true,
    description: 'Log probabilities, as returned by the model.',
  },
);

export const logprobs = nullable(ref(CompletionLogprobs), {
  description: 'Log probabilities, if requested and available.',
  examples: [null],
});

export const CompletionChoice = Type.Object(
  {
    index: Count('The index of the choice.', [0]),
    message: ref(CompletionAnswer),
    logprobs,
    finish_reason: nullable(Type.String({ maxLength: 60 }), {
      description: 'The reason that the choice ended.',
      examples: ['stop'],
    }),
  },
  { $id: 'CompletionChoice', additionalProperties: true, description: 'A choice.' },
);

export const CompletionUsage = Type.Object(
  {
    prompt_tokens: Count('Input tokens.', [42]),
    completion_tokens: Count('Output tokens.', [128]),
    total_tokens: Count('Total tokens.', [170]),
  },
  { $id: 'CompletionUsage', additionalProperties: true, description: 'Token usage.' },
);

export const Completion = Type.Object(
  {
    id: Type.String({
      maxLength: 200,
      description: "The completion's ID.",
      examples: ['chatcmpl-01932f5e7c1a7b3e9d2f3a5b7c9d1e0f'],
    }),
    object: stringConst('chat.completion', { description: 'Always `chat.completion`.' }),
    created: Count('Unix time in seconds.', [1763596800]),
    model: Type.String({
      maxLength: 200,
      description: 'The model that generated the response.',
      examples: ['parley-builtin'],
    }),
    system_fingerprint: nullable(Type.String({ maxLength: 200 }), {
      description: "The model's configuration, if known.",
      examples: [null],
    }),
    choices: Type.Array(ref(CompletionChoice), { maxItems: 8, description: 'The choices.' }),
    usage: ref(CompletionUsage),
  },
  { $id: 'Completion', additionalProperties: true, description: "A chat completion, in OpenAI's format." },
);
