/** OpenAI's Responses API: contract section 14. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringConst, stringEnum } from './common.ts';
import { PassedObject } from './passed-objects.ts';
import {
  MAX_ASKED,
  ResponseInputItem,
  ResponseMetadata,
  ResponseReasoning,
  ResponseTextOptions,
  ResponseTool,
  ResponseToolChoice,
  responseId,
  temperature,
} from './response-requests.ts';

const MAX_ANSWERED = 20_000_000;

const itemId = (description: string) =>
  Type.String({ maxLength: 200, description, examples: ['msg_01932f624e207d90a1b27e8f90a1b2c3_0'] });

const answered = (description: string, example = 'Open "Your API" and press Create key.') =>
  Type.String({ maxLength: MAX_ANSWERED, description, examples: [example] });

export const logprobs = Type.Optional(
  Type.Array(ref(PassedObject), {
    maxItems: 1_000_000,
    description: 'The log probabilities of the tokens, if requested.',
  }),
);

export const ResponsePart = Type.Object(
  {
    type: stringEnum(['output_text', 'refusal', 'reasoning_text', 'summary_text'], {
      ...extensible,
      description: 'The kind of part.',
    }),
    text: Type.Optional(answered('The text of the part.')),
    refusal: Type.Optional(answered('The reason for a refusal.', 'I cannot help with that.')),
    annotations: Type.Optional(
      Type.Array(ref(PassedObject), {
        maxItems: 10_000,
        description: 'The citations of a text, if any.',
      }),
    ),
    logprobs,
  },
  { $id: 'ResponsePart', additionalProperties: false, description: 'A part of a message or of reasoning.' },
);

export const ResponseItem = Type.Object(
  {
    id: itemId("The item's ID."),
    type: stringEnum(['message', 'function_call', 'custom_tool_call', 'reasoning'], {
      ...extensible,
      description: 'The kind of item.',
    }),
    status: Type.Optional(
      stringEnum(['in_progress', 'completed', 'incomplete'], {
        ...extensible,
        description: 'The state of the item.',
      }),
    ),
    role: Type.Optional(stringConst('assistant', { description: 'The author of a message.' })),
    phase: Type.Optional(
      Type.String({
        maxLength: 60,
        description: 'What a message is for, if the model says so. Send it back with the message.',
        examples: ['commentary'],
      }),
    ),
    content: Type.Optional(
      Type.Array(ref(ResponsePart), {
        maxItems: 1000,
        description: 'The parts of a message or of reasoning.',
      }),
    ),
    summary: Type.Optional(
      Type.Array(ref(ResponsePart), { maxItems: 1000, description: 'The summary of reasoning.' }),
    ),
    call_id: Type.Optional(
      Type.String({
        maxLength: MAX_ANSWERED,
        description: 'Identifies a tool call. Send its result with the same ID.',
        examples: ['call_1'],
      }),
    ),
    name: Type.Optional(answered('The name of the called tool.', 'get_weather')),
    namespace: Type.Optional(answered('The namespace of the called tool.', 'weather')),
    arguments: Type.Optional(answered('The arguments of a function call, as JSON.', '{"city":"Paris"}')),
    input: Type.Optional(answered('The input of a custom tool call.', 'ls -l')),
    encrypted_content: Type.Optional(
      answered('Reasoning that only the model can read. Send it back unchanged.', 'gAAAAABo'),
    ),
  },
  {
    $id: 'ResponseItem',
    additionalProperties: false,
    description: 'An item of the output: a message, a tool call, or reasoning.',
  },
);

export const ResponseInputTokenDetails = Type.Object(
  { cached_tokens: Count('Tokens read from a cache.', [0]) },
  {
    $id: 'ResponseInputTokenDetails',
    additionalProperties: false,
    description: 'A breakdown of the input tokens.',
  },
);

export const ResponseOutputTokenDetails = Type.Object(
  { reasoning_tokens: Count('Tokens of reasoning.', [0]) },
  {
    $id: 'ResponseOutputTokenDetails',
    additionalProperties: false,
    description: 'A breakdown of the output tokens.',
  },
);

export const ResponseUsage = Type.Object(
  {
    input_tokens: Count('Input tokens.', [42]),
    input_tokens_details: ref(ResponseInputTokenDetails),
    output_tokens: Count('Output tokens.', [128]),
    output_tokens_details: ref(ResponseOutputTokenDetails),
    total_tokens: Count('Total tokens.', [170]),
  },
  { $id: 'ResponseUsage', additionalProperties: false, description: 'Token usage.' },
);

export const ResponseFailure = Type.Object(
  {
    code: Type.String({ maxLength: 100, description: 'An error code.', examples: ['upstreamError'] }),
    message: Type.String({
      maxLength: 2000,
      description: 'What happened.',
      examples: ['The server behind this endpoint ended the response early.'],
    }),
  },
  { $id: 'ResponseFailure', additionalProperties: false, description: 'The reason that a response failed.' },
);

export const ResponseIncompleteDetails = Type.Object(
  {
    reason: stringEnum(['max_output_tokens', 'content_filter'], {
      ...extensible,
      description: 'The reason.',
    }),
  },
  {
    $id: 'ResponseIncompleteDetails',
    additionalProperties: false,
    description: 'The reason that a response is incomplete.',
  },
);

/** The name avoids a clash with the `Response` of HTTP clients. */
export const ModelResponse = Type.Object(
  {
    id: responseId,
    object: stringConst('response', { description: 'Always `response`.' }),
    created_at: Count('Unix time in seconds.', [1763596800]),
    status: stringEnum(['completed', 'incomplete', 'failed', 'in_progress', 'cancelled'], {
      ...extensible,
      description: 'The state of the response.',
    }),
    background: Type.Boolean({
      description: 'Always false: background responses are not supported.',
      examples: [false],
    }),
    error: nullable(ref(ResponseFailure), { description: 'The reason that the response failed, if it did.' }),
    incomplete_details: nullable(ref(ResponseIncompleteDetails), {
      description: 'The reason that the response is incomplete, if it is.',
    }),
    instructions: nullable(Type.String({ maxLength: MAX_ASKED }), {
      description: 'The instructions.',
      examples: [null],
    }),
    max_output_tokens: nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, format: 'int32' }), {
      description: 'The maximum number of tokens in the response, if set.',
      examples: [null],
    }),
    metadata: ref(ResponseMetadata),
    model: Type.String({
      maxLength: 200,
      description: 'The model that answered.',
      examples: ['parley-builtin'],
    }),
    output: Type.Array(ref(ResponseItem), { maxItems: 10_000, description: 'The output items.' }),
    parallel_tool_calls: Type.Boolean({
      description: 'Whether the model may call several tools at once.',
      examples: [true],
    }),
    previous_response_id: nullable(responseId, { description: 'The response that this one continues.' }),
    reasoning: ref(ResponseReasoning),
    store: Type.Boolean({ description: 'Whether the response is kept.', examples: [true] }),
    temperature: nullable(Type.Number({ minimum: 0, maximum: 2 }), temperature('As in the request.')),
    text: ref(ResponseTextOptions),
    tool_choice: Type.Unsafe<unknown>({
      anyOf: [{ type: 'string', maxLength: 200 }, ref(ResponseToolChoice)],
      description: 'As in the request.',
      examples: ['auto'],
    }),
    tools: Type.Array(ref(ResponseTool), { maxItems: 1000, description: 'The tools offered to the model.' }),
    top_p: nullable(Type.Number({ minimum: 0, maximum: 1 }), {
      description: 'As in the request.',
      examples: [null],
    }),
    truncation: stringConst('disabled', { description: 'Always `disabled`.' }),
    usage: nullable(ref(ResponseUsage), { description: 'Token usage; null until the response ends.' }),
  },
  { $id: 'ModelResponse', additionalProperties: false, description: "A response, in OpenAI's format." },
);

export const ResponseInputList = Type.Object(
  {
    object: stringConst('list', { description: 'Always `list`.' }),
    data: Type.Array(ref(ResponseInputItem), { maxItems: 100, description: 'The items of the input.' }),
    first_id: nullable(itemId(''), { description: 'The ID of the first item.' }),
    last_id: nullable(itemId(''), {
      description: 'The ID of the last item. Pass it as `after` for the next page.',
    }),
    has_more: Type.Boolean({ description: 'Whether more items follow.', examples: [false] }),
  },
  {
    $id: 'ResponseInputList',
    additionalProperties: false,
    description: 'A page of the input of a response.',
  },
);

export const DeletedResponse = Type.Object(
  {
    id: responseId,
    object: stringConst('response', { description: 'Always `response`.' }),
    deleted: Type.Boolean({ description: 'Always true.', examples: [true] }),
  },
  { $id: 'DeletedResponse', additionalProperties: false, description: 'A deleted response.' },
);

/** With `store: false`, Parley keeps no other fields of a canceled response. */
const { id: cancelledId, object: cancelledObject, ...otherFields } = ModelResponse.properties;

export const CancelledResponse = Type.Object(
  {
    id: cancelledId,
    object: cancelledObject,
    status: stringConst('cancelled', { description: 'Always `cancelled`.' }),
    ...Type.Partial(Type.Omit(Type.Object(otherFields), ['status'])).properties,
  },
  {
    $id: 'CancelledResponse',
    additionalProperties: false,
    description:
      'A stopped response. If it is stored, it has all fields, and the output is what the model had generated so far.',
  },
);

export const ResponseParams = Type.Object({ id: responseId }, { additionalProperties: false });

/** OpenAI's clients also send parameters such as `include`. The response always contains everything that was stored. */
const others = { additionalProperties: true };

export const ResponseQuery = Type.Object(
  {
    stream: Type.Optional(
      Type.Boolean({
        description: 'Must not be true: stored responses cannot be streamed.',
        examples: [false],
      }),
    ),
  },
  others,
);

export const ResponseInputQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        default: 20,
        format: 'int32',
        description: 'The maximum number of items.',
        examples: [20],
      }),
    ),
    order: Type.Optional(
      stringEnum(['desc', 'asc'], { default: 'desc', description: 'Newest or oldest first.' }),
    ),
    after: Type.Optional(itemId('The `last_id` of the previous page.')),
  },
  others,
);
