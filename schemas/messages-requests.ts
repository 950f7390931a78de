/** Requests of Anthropic's Messages API: contract section 14. */
import { type Static, Type } from '@sinclair/typebox';
import { nullable, ref, stringEnum } from './common.ts';

/** The body size limit. No string can be longer, so validation never has to count characters. */
const MAX_ASKED = 20 * 1024 * 1024;
const MAX_ENTRIES = 10_000;

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: MAX_ASKED, description, examples: [example] }));
const name = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 1000, description, examples: [example] }));
const kind = (description: string, example: string) =>
  Type.String({ maxLength: 100, description, examples: [example] });

export const MessagesSource = Type.Object(
  {
    type: kind('`base64` or `url` for an image; `text`, `content`, or `base64` for a document.', 'base64'),
    media_type: name('The media type of `data`.', 'image/png'),
    data: text(
      'The image or PDF document in Base64, or the text of the document.',
      'iVBORw0KGgoAAAANSUhEUg==',
    ),
    url: text('The `https` URL of the image.', 'https://example.com/map.png'),
  },
  { $id: 'MessagesSource', additionalProperties: true, description: 'An image or a document.' },
);

const source = Type.Optional(
  Type.Unsafe<Static<typeof MessagesSource> | string | null>({
    anyOf: [
      { $ref: 'MessagesSource#' },
      {
        type: ['string', 'null'],
        maxLength: MAX_ASKED,
        description: 'The source of a `search_result` block.',
      },
    ],
    description: 'The image or document; for a `search_result` block, its source.',
    examples: ['https://example.com/weather'],
  }),
);

export const MessagesPart = Type.Object(
  {
    type: kind('`text`, `image`, `document`, or `search_result`. Other types are ignored.', 'text'),
    text: text('The text of a `text` block.', 'Answer in one sentence.'),
    source,
  },
  {
    $id: 'MessagesPart',
    additionalProperties: true,
    description: 'A part of a system prompt or of a tool result. Unknown members are ignored.',
  },
);
export type MessagesPart = Static<typeof MessagesPart>;

const textOrParts = (part: string, about: { description: string; examples: string[] }) =>
  Type.Unsafe<string | Record<string, unknown>[]>({
    anyOf: [
      { type: 'string', maxLength: MAX_ASKED, description: 'Plain text.' },
      { type: 'array', items: { $ref: `${part}#` }, maxItems: MAX_ENTRIES, description: 'A list of blocks.' },
    ],
    ...about,
  });

export const MessagesToolInput = Type.Object(
  {},
  { $id: 'MessagesToolInput', additionalProperties: true, description: 'The input of a tool call.' },
);

export const MessagesInputBlock = Type.Object(
  {
    type: kind(
      '`text`, `image`, `document`, `search_result`, `tool_use`, `tool_result`, `thinking`, … Types that no configured model supports are ignored.',
      'text',
    ),
    text: text('The text of a `text` block.', 'How do I create a key?'),
    source,
    id: name('The ID of a `tool_use` block.', 'toolu_1'),
    name: name('The tool of a `tool_use` block.', 'get_weather'),
    input: Type.Optional(ref(MessagesToolInput)),
    tool_use_id: name('For a `tool_result` block: the `id` of the `tool_use` block.', 'toolu_1'),
    content: Type.Optional(
      Type.Unknown({
        description:
          'For a `tool_result` block: text, or a list of blocks. For a `search_result` block: a list of `text` blocks.',
        examples: ['Sunny, 21 °C'],
      }),
    ),
    is_error: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'Whether the tool of a `tool_result` block failed.',
        examples: [false],
      }),
    ),
    thinking: text('The text of a `thinking` block.', 'The user wants a key.'),
    signature: text('The signature of a `thinking` block, as returned in the response.', 'parley'),
  },
  {
    $id: 'MessagesInputBlock',
    additionalProperties: true,
    description:
      'A block of a message. You can send blocks of an earlier response back unchanged. Unknown members are ignored.',
  },
);

export const MessagesInput = Type.Object(
  {
    role: stringEnum(['user', 'assistant', 'system'], { description: 'The author of the message.' }),
    content: textOrParts('MessagesInputBlock', {
      description: 'Text, or a list of blocks.',
      examples: ['How do I create a key?'],
    }),
  },
  { $id: 'MessagesInput', additionalProperties: true, description: 'A message of the conversation.' },
);

export const MessagesSchema = Type.Object(
  {},
  { $id: 'MessagesSchema', additionalProperties: true, description: 'A JSON schema.' },
);

export const MessagesTool = Type.Object(
  {
    type: Type.Optional(
      nullable(Type.String({ maxLength: 100 }), {
        description:
          "`custom`, or absent. Anthropic models also get `bash_…`, `computer_…`, `memory_…`, and `text_editor_…`, which the client runs. Tools of other types, such as `web_search_20250305`, run on Anthropic's servers and are left out.",
        examples: ['custom'],
      }),
    ),
    name: name('The name of the tool.', 'get_weather'),
    description: text('What the tool does.', 'Returns the weather of a city.'),
    input_schema: Type.Optional(ref(MessagesSchema)),
    strict: Type.Optional(
      Type.Boolean({ description: 'Whether the input must match the schema exactly.', examples: [true] }),
    ),
  },
  { $id: 'MessagesTool', additionalProperties: true, description: 'A tool that the model may call.' },
);

export const MessagesToolChoice = Type.Object(
  {
    type: kind('`auto`, `any`, `tool`, or `none`.', 'auto'),
    name: name('The tool that the model must call. Requires type `tool`.', 'get_weather'),
    disable_parallel_tool_use: Type.Optional(
      Type.Boolean({ description: 'Whether to limit the model to one call at a time.', examples: [false] }),
    ),
  },
  { $id: 'MessagesToolChoice', additionalProperties: true, description: 'Whether the model calls tools.' },
);

export const MessagesThinking = Type.Object(
  {
    type: kind('`enabled`, `adaptive`, or `disabled`.', 'adaptive'),
    budget_tokens: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        format: 'int32',
        description:
          'With `enabled`, determines the effort: `low` below 4,096 tokens, `medium` below 16,384, otherwise `high`.',
        examples: [4096],
      }),
    ),
  },
  { $id: 'MessagesThinking', additionalProperties: true, description: 'Options for thinking.' },
);

export const MessagesFormat = Type.Object(
  {
    type: kind('`json_schema`.', 'json_schema'),
    schema: Type.Optional(ref(MessagesSchema)),
  },
  { $id: 'MessagesFormat', additionalProperties: true, description: 'The format of the response.' },
);

const format = Type.Optional(nullable(ref(MessagesFormat), { description: 'The format of the response.' }));

export const MessagesOutputConfig = Type.Object(
  {
    effort: Type.Optional(
      nullable(Type.String({ maxLength: 100 }), {
        description:
          'The reasoning effort, if the model supports it: `low`, `medium`, `high`, `xhigh`, or `max`. On models without the last two, they count as `high`. Overrides `thinking`, unless thinking is `disabled`.',
        examples: ['medium'],
      }),
    ),
    format,
  },
  { $id: 'MessagesOutputConfig', additionalProperties: true, description: 'Options for the response.' },
);

export const MessagesMetadata = Type.Object(
  {
    user_id: Type.Optional(
      nullable(Type.String({ maxLength: 1000 }), {
        description:
          'Identifies your user. Passed to the model as `user`; if longer than 64 characters, as its SHA-256 digest.',
        examples: ['user-7'],
      }),
    ),
  },
  { $id: 'MessagesMetadata', additionalProperties: true, description: 'Metadata of the request.' },
);

const share = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description, examples: [0.7] }));

/** Fields that `/messages/count_tokens` also accepts. */
const conversation = {
  model: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'A model from `GET /models`, or a name for which the operator has set an alias. Defaults to the default model.',
      examples: ['parley-builtin'],
    }),
  ),
  messages: Type.Array(ref(MessagesInput), {
    minItems: 1,
    maxItems: MAX_ENTRIES,
    description: 'The conversation so far.',
  }),
  system: Type.Optional(
    textOrParts('MessagesPart', {
      description: 'The system prompt: text, or a list of `text` blocks.',
      examples: ['Answer in one sentence.'],
    }),
  ),
  tools: Type.Optional(
    Type.Array(ref(MessagesTool), { maxItems: 1000, description: 'The tools that the model may call.' }),
  ),
  tool_choice: Type.Optional(ref(MessagesToolChoice)),
  thinking: Type.Optional(ref(MessagesThinking)),
  output_config: Type.Optional(ref(MessagesOutputConfig)),
  output_format: format,
};

const NULLS = 'Null fields of the request and of its tools are treated as omitted.';

export const MessagesRequest = Type.Object(
  {
    ...conversation,
    max_tokens: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      format: 'int32',
      description: 'The maximum number of tokens in the response.',
      examples: [1024],
    }),
    stream: Type.Optional(
      Type.Boolean({
        description: 'Whether to stream the response as server-sent events.',
        examples: [false],
      }),
    ),
    temperature: share('The randomness of the response.'),
    top_p: share('The probability mass for nucleus sampling.'),
    top_k: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        format: 'int32',
        description: 'The number of most likely tokens to sample from, if the model server supports it.',
        examples: [40],
      }),
    ),
    stop_sequences: Type.Optional(
      Type.Array(Type.String({ maxLength: 10_000 }), {
        maxItems: MAX_ENTRIES,
        description: 'Text sequences at which the response stops.',
        examples: [['\n\n']],
      }),
    ),
    metadata: Type.Optional(ref(MessagesMetadata)),
  },
  {
    $id: 'MessagesRequest',
    additionalProperties: true,
    description: `An Anthropic Messages API request. Other fields are ignored and listed in \`X-Parley-Ignored-Fields\`. ${NULLS}`,
  },
);

export const MessagesCountRequest = Type.Object(conversation, {
  $id: 'MessagesCountRequest',
  additionalProperties: true,
  description: `An Anthropic request to count the tokens of a conversation. Other fields are ignored. ${NULLS}`,
});

export const MessagesQuery = Type.Object(
  {
    beta: Type.Optional(
      Type.String({
        maxLength: 100,
        description: "Sent by Anthropic's beta clients. Has no effect.",
        examples: ['true'],
      }),
    ),
  },
  { additionalProperties: false },
);
