import { ResponseEvent } from '../response-events.ts';
import { ResponseRequest } from '../response-requests.ts';
import { CancelledResponse, DeletedResponse, ModelResponse, ResponseInputList } from '../responses.ts';
import { example, type OperationExamples } from './example.ts';

const question = 'How do I create a key?';
const answer = 'Open "Your API" in the dashboard and press Create key.';
const id = 'resp_01932f624e207d90a1b27e8f90a1b2c3';
const itemId = 'msg_01932f624e207d90a1b27e8f90a1b2c3_0';
const inputId = 'item_01932f624e207d90a1b27e8f90a1b2c3_0';

const inputItem = { type: 'message', role: 'user', content: question, id: inputId };

const part = { type: 'output_text', text: answer, annotations: [], logprobs: [] } as const;
const item = {
  id: itemId,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [part],
} as const;

const response = {
  id,
  object: 'response',
  created_at: 1795182312,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: 'parley-builtin',
  output: [{ ...item, content: [{ ...part, annotations: [], logprobs: [] }] }],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  truncation: 'disabled',
  usage: {
    input_tokens: 6,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 11,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 17,
  },
} as const;

const mutable = { ...response, output: [...response.output], tools: [] } as never;

const event = (summary: string, data: Record<string, unknown>) => ({
  summary,
  value: { event: data.type, data: example(ResponseEvent, '', data as never).value },
});

export const responseExamples: Record<string, OperationExamples> = {
  createResponse: {
    requests: {
      question: example(ResponseRequest, 'A question', { model: 'parley-builtin', input: question }),
      items: example(ResponseRequest, 'Items, not stored', {
        instructions: 'Answer in one sentence.',
        input: [{ role: 'user', content: [{ type: 'input_text', text: question }] }],
        store: false,
      }),
      streamed: example(ResponseRequest, 'Streamed', { input: question, stream: true }),
    },
    responses: { response: example(ModelResponse, 'The response', mutable) },
    stream: {
      created: event('The first event', {
        type: 'response.created',
        sequence_number: 0,
        response: { ...response, status: 'in_progress', output: [], usage: null },
      }),
      delta: event('A piece of the response', {
        type: 'response.output_text.delta',
        sequence_number: 4,
        item_id: itemId,
        output_index: 0,
        content_index: 0,
        delta: 'Open ',
        logprobs: [],
      }),
      completed: event('The last event', {
        type: 'response.completed',
        sequence_number: 17,
        response,
      }),
    },
  },
  getResponse: { responses: { response: example(ModelResponse, 'A stored response', mutable) } },
  cancelResponse: {
    responses: {
      stopped: example(CancelledResponse, 'Stopped', {
        ...(mutable as object),
        ...{ id, object: 'response', status: 'cancelled' },
      }),
    },
  },
  deleteResponse: {
    responses: { deleted: example(DeletedResponse, 'Deleted', { id, object: 'response', deleted: true }) },
  },
  listResponseInput: {
    responses: {
      one: example(ResponseInputList, 'One item', {
        object: 'list',
        data: [inputItem],
        first_id: inputId,
        last_id: inputId,
        has_more: false,
      }),
    },
  },
};
