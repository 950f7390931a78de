/** The events of a streamed response: contract section 14. */
import { Type } from '@sinclair/typebox';
import { Count, extensible, nullable, ref, stringEnum } from './common.ts';
import { ErrorBody } from './errors.ts';
import { PassedObject } from './passed-objects.ts';
import { logprobs, ModelResponse, ResponseItem, ResponsePart } from './responses.ts';

const eventTypes = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  'response.output_text.delta',
  'response.output_text.done',
  'response.output_text.annotation.added',
  'response.refusal.delta',
  'response.refusal.done',
  'response.content_part.done',
  'response.reasoning_text.delta',
  'response.reasoning_text.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.reasoning_summary_part.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
] as const;

export const ResponseEventType = stringEnum(eventTypes, {
  $id: 'ResponseEventType',
  ...extensible,
  description: 'The kind of event.',
});
export type ResponseEventType = (typeof eventTypes)[number];

const text = (description: string) =>
  Type.Optional(Type.String({ maxLength: 20_000_000, description, examples: ['Open '] }));
const place = (description: string) => Type.Optional(Count(description, [0]));

export const ResponseEvent = Type.Object(
  {
    type: ref(ResponseEventType),
    sequence_number: Count('The position of the event in the stream, starting at 0.', [4]),
    response: Type.Optional(ref(ModelResponse)),
    output_index: place('The index of the item in the output.'),
    item: Type.Optional(ref(ResponseItem)),
    item_id: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'The ID of the item.',
        examples: ['msg_01932f624e207d90a1b27e8f90a1b2c3_0'],
      }),
    ),
    content_index: place('The index of the part in the item.'),
    summary_index: place('The index of the part in the summary.'),
    part: Type.Optional(ref(ResponsePart)),
    delta: text('The text to append.'),
    text: text('The whole text of a part.'),
    refusal: text('The complete text of a refusal.'),
    name: text('The name of the called tool.'),
    arguments: text('The whole arguments of a function call, as JSON.'),
    input: text('The whole input of a custom tool call.'),
    logprobs,
    annotation: Type.Optional(ref(PassedObject)),
    annotation_index: place('The index of the annotation in the part.'),
    code: Type.Optional(
      nullable(Type.String({ maxLength: 100 }), {
        description: 'The code of an error.',
        examples: ['upstreamError'],
      }),
    ),
    message: text('The message of an error.'),
    param: Type.Optional(
      nullable(Type.String({ maxLength: 1000 }), {
        description: 'The parameter that caused an error.',
        examples: [null],
      }),
    ),
    error: Type.Optional(ref(ErrorBody)),
  },
  {
    $id: 'ResponseEvent',
    additionalProperties: false,
    description:
      'The data of an event. Its members depend on `type`. The last event is `response.completed` or `response.incomplete`, or `error` if the response is interrupted.',
  },
);

export const ResponseStreamEvent = Type.Object(
  { event: ref(ResponseEventType), data: ref(ResponseEvent) },
  {
    $id: 'ResponseStreamEvent',
    additionalProperties: false,
    description:
      'An event of a streamed response. `event` repeats the type. Lines that begin with a colon are comments.',
  },
);
