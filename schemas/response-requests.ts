/** Requests of OpenAI's Responses API: contract section 14. */
import { Type } from '@sinclair/typebox';
import { nullable, ref } from './common.ts';

/** The body size limit. No string can be longer, so validation never has to count characters. */
export const MAX_ASKED = 20 * 1024 * 1024;
const MAX_PAIRS = 16;

export const ResponseMetadata = Type.Unsafe<Record<string, string>>({
  $id: 'ResponseMetadata',
  type: 'object',
  additionalProperties: { type: 'string', maxLength: 512, description: 'A value.', examples: ['keys'] },
  propertyNames: { maxLength: 64 },
  maxProperties: MAX_PAIRS,
  description: `Up to ${MAX_PAIRS} key-value pairs that the response returns unchanged.`,
});

export const ResponseInputItem = Type.Object(
  {
    type: Type.Optional(
      nullable(Type.String({ maxLength: 60 }), {
        description:
          'The type of item: `message` (the default), `function_call`, `function_call_output`, `reasoning`, `item_reference`, … Types that no configured model supports are ignored. An item with only an `id` is a reference.',
        examples: ['message'],
      }),
    ),
    id: Type.Optional(
      nullable(Type.String({ maxLength: 200 }), {
        description: 'The ID of an item of an earlier output.',
        examples: ['msg_01932f624e207d90a1b27e8f90a1b2c3_0'],
      }),
    ),
    role: Type.Optional(
      Type.String({
        maxLength: 60,
        description: 'The author of a message: `user`, `assistant`, `system`, or `developer`.',
        examples: ['user'],
      }),
    ),
    content: Type.Optional(
      Type.Unknown({
        description:
          'The content of a message: text, or a list of parts such as `input_text` and `input_image`.',
        examples: ['How do I create a key?'],
      }),
    ),
  },
  {
    $id: 'ResponseInputItem',
    additionalProperties: true,
    description: 'An item of the input. You can send items of an earlier `output` back unchanged.',
  },
);

export const ResponseTool = Type.Object(
  {
    type: Type.String({
      maxLength: 60,
      description:
        '`function`, `custom`, or `namespace`. Tools that run on the server, such as `web_search`, are ignored.',
      examples: ['function'],
    }),
    name: Type.Optional(
      Type.String({ maxLength: 200, description: 'The name of the tool.', examples: ['get_weather'] }),
    ),
  },
  { $id: 'ResponseTool', additionalProperties: true, description: 'A tool that the model may call.' },
);

export const ResponseToolChoice = Type.Object(
  {
    type: Type.String({
      maxLength: 60,
      description: '`function`, `custom`, or `allowed_tools`.',
      examples: ['function'],
    }),
  },
  {
    $id: 'ResponseToolChoice',
    additionalProperties: true,
    description: 'The tool that the model must call.',
  },
);

export const ResponseReasoning = Type.Object(
  {
    effort: Type.Optional(
      nullable(Type.String({ maxLength: 20 }), {
        description: 'The reasoning effort, if the model supports it.',
        examples: ['low'],
      }),
    ),
    summary: Type.Optional(
      nullable(Type.String({ maxLength: 20 }), {
        description:
          'If set, the reasoning is returned as a summary; otherwise, as the content of the reasoning item.',
        examples: ['auto'],
      }),
    ),
  },
  { $id: 'ResponseReasoning', additionalProperties: true, description: 'Options for reasoning.' },
);

export const ResponseFormat = Type.Object(
  {
    type: Type.String({
      maxLength: 60,
      description: '`text`, `json_object`, or `json_schema`.',
      examples: ['text'],
    }),
  },
  { $id: 'ResponseFormat', additionalProperties: true, description: 'The format of the response.' },
);

export const ResponseTextOptions = Type.Object(
  {
    format: Type.Optional(nullable(ref(ResponseFormat), { description: 'The format of the response.' })),
    verbosity: Type.Optional(
      nullable(Type.String({ maxLength: 20 }), {
        description: 'The verbosity of the response, if the model supports it.',
        examples: ['low'],
      }),
    ),
  },
  { $id: 'ResponseTextOptions', additionalProperties: true, description: 'Options for text.' },
);

export const responseId = Type.String({
  maxLength: 200,
  description: "The response's ID.",
  examples: ['resp_01932f624e207d90a1b27e8f90a1b2c3'],
});

export const temperature = (description: string) => ({ description, examples: [0.7] });

export const ResponseRequest = Type.Object(
  {
    model: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'A model from `GET /models`. Defaults to the default model.',
        examples: ['parley-builtin'],
      }),
    ),
    input: Type.Optional(
      Type.Unsafe<string | Record<string, unknown>[] | null>({
        anyOf: [
          { type: ['string', 'null'], maxLength: MAX_ASKED, description: 'A user message.' },
          {
            type: 'array',
            items: { $ref: 'ResponseInputItem#' },
            maxItems: 10_000,
            description: 'A list of items.',
          },
        ],
        description: 'The input: text, or a list of items. Required without `previous_response_id`.',
        examples: ['How do I create a key?'],
      }),
    ),
    instructions: Type.Optional(
      nullable(Type.String({ maxLength: MAX_ASKED }), {
        description: 'Instructions to the model. They do not carry over to the next response.',
        examples: ['Answer in one sentence.'],
      }),
    ),
    previous_response_id: Type.Optional(
      nullable(responseId, {
        description: 'Continues a stored response: its input and output precede this input.',
      }),
    ),
    store: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'Whether to keep the response for 30 days. Defaults to true.',
        examples: [true],
      }),
    ),
    stream: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'Whether to stream the response as server-sent events.',
        examples: [false],
      }),
    ),
    temperature: Type.Optional(
      nullable(Type.Number({ minimum: 0, maximum: 2 }), temperature('The randomness of the response.')),
    ),
    top_p: Type.Optional(
      nullable(Type.Number({ minimum: 0, maximum: 1 }), {
        description: 'The probability mass for nucleus sampling.',
        examples: [1],
      }),
    ),
    max_output_tokens: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, format: 'int32' }), {
        description: 'The maximum number of tokens in the response.',
        examples: [500],
      }),
    ),
    top_logprobs: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: 20, format: 'int32' }), {
        description:
          'The number of most likely tokens to return for each token. Requires `message.output_text.logprobs` in `include`.',
        examples: [2],
      }),
    ),
    tools: Type.Optional(
      nullable(Type.Array(ref(ResponseTool), { maxItems: 1000 }), {
        description: 'The tools that the model may call.',
      }),
    ),
    reasoning: Type.Optional(nullable(ref(ResponseReasoning), { description: 'Options for reasoning.' })),
    text: Type.Optional(nullable(ref(ResponseTextOptions), { description: 'Options for text.' })),
    metadata: Type.Optional(
      nullable(ref(ResponseMetadata), {
        description: 'Key-value pairs that the response returns unchanged.',
      }),
    ),
  },
  {
    $id: 'ResponseRequest',
    additionalProperties: true,
    description:
      'An OpenAI Responses API request. `tool_choice`, `parallel_tool_calls`, `user`, `safety_identifier`, and `prompt_cache_key` are passed to the model too. Other fields are ignored and listed in `X-Parley-Ignored-Fields`.',
  },
);
