/** Translates responses of OpenAI's Responses API to chat completions. Contract section 15. */

import { messageOf } from '../message-steps.ts';
import { detailOf, RESPONSES_FORMAT } from '../reasoning-details.ts';
import { beginText, chatAnnotation, chatLogprobs, objectsIn } from '../text-details.ts';
import { flatName } from '../tool-names.ts';
import { refusalError } from '../upstream/errors.ts';
import { isObject, type JsonObject, parseJson, stringIn, textWithin, wholeNumber } from '../upstream/json.ts';
import { reasonOf } from '../upstream/problems.ts';
import type { BrokenError } from '../upstream/transport.ts';
import type { EventReader } from './dialect.ts';

const MAX_PHASE_LENGTH = 60;

export function usageOf({
  input_tokens,
  input_tokens_details,
  output_tokens,
  output_tokens_details,
}: JsonObject) {
  const input = wholeNumber(input_tokens);
  const output = wholeNumber(output_tokens);
  if (input === undefined || output === undefined) return undefined;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(isObject(input_tokens_details) && { prompt_tokens_details: input_tokens_details }),
    ...(isObject(output_tokens_details) && { completion_tokens_details: output_tokens_details }),
  };
}

function finishOf({ incomplete_details: details }: JsonObject, hasCalls: boolean): string {
  const reason = isObject(details) ? details.reason : undefined;
  if (reason === 'max_output_tokens') return 'length';
  if (reason === 'content_filter') return 'content_filter';
  return hasCalls ? 'tool_calls' : 'stop';
}

const isCall = ({ type }: JsonObject) => type === 'function_call' || type === 'custom_tool_call';

/** The input of a custom tool is text. Arguments must be an object, so the text becomes its `input`. */
const argumentsOf = ({ arguments: given, input, type }: JsonObject): string =>
  type === 'custom_tool_call' ? JSON.stringify({ input: stringIn(input) }) : stringIn(given);

const callOf = ({ call_id, name, namespace }: JsonObject, text: string): JsonObject => ({
  id: stringIn(call_id),
  type: 'function',
  function: { name: flatName(stringIn(name), stringIn(namespace) || undefined), arguments: text },
});

const reasoningText = ({ content, summary }: JsonObject): string => {
  const texts = (list: unknown) => objectsIn(list).map(({ text }) => stringIn(text));
  const own = texts(content);
  return (own.length > 0 ? own : texts(summary)).join('\n\n');
};

function sealOf(item: JsonObject): JsonObject[] {
  const value = stringIn(item.encrypted_content);
  if (item.type !== 'reasoning' || value === '') return [];
  return [detailOf({ text: reasoningText(item), seal: { format: RESPONSES_FORMAT, kind: 'data', value } })];
}

/** OpenAI's models mark each message as `commentary` on their work or as the `final_answer`. */
function phaseOf(item: JsonObject): JsonObject {
  const phase = textWithin(item.phase, MAX_PHASE_LENGTH);
  return phase === undefined ? {} : { phase };
}

const deltaStep = (field: string, text: unknown): JsonObject[] =>
  stringIn(text) === '' ? [] : [{ [field]: text }];

const sealSteps = (item: JsonObject): JsonObject[] =>
  sealOf(item).map((detail) => ({ reasoning_details: [detail] }));

/** @param start - where the text begins in the content of the message, in characters */
function textStep({ annotations, logprobs, text }: JsonObject, start: number): JsonObject {
  const noted = objectsIn(annotations).map((one) => chatAnnotation(one, start));
  const tokens = objectsIn(logprobs);
  return {
    content: stringIn(text),
    ...(noted.length > 0 && { annotations: noted }),
    ...(tokens.length > 0 && { logprobs: tokens }),
  };
}

const lengthOf = (steps: readonly JsonObject[]): number =>
  steps.reduce((sum, { content }) => sum + stringIn(content).length, 0);

/** The texts and refusals of a message item. */
function messageSteps(item: JsonObject, start: number): JsonObject[] {
  const steps: JsonObject[] = [];
  for (const [index, part] of objectsIn(item.content).entries()) {
    if (part.type === 'refusal') steps.push(...deltaStep('refusal', part.refusal));
    if (part.type !== 'output_text' || stringIn(part.text) === '') continue;
    const step = { ...textStep(part, start + lengthOf(steps)), ...(index === 0 && phaseOf(item)) };
    if (index === 0) beginText(step, 'message');
    steps.push(step);
  }
  return steps;
}

/**
 * The deltas that a stream would have for an item.
 *
 * @param start - the length of the texts before it, in characters
 */
function stepsIn(item: JsonObject, start: number): JsonObject[] {
  if (isCall(item)) return [{ tool_calls: [callOf(item, argumentsOf(item))] }];
  if (item.type === 'reasoning')
    return [...deltaStep('reasoning_content', reasoningText(item)), ...sealSteps(item)];
  return item.type === 'message' ? messageSteps(item, start) : [];
}

function stepsOfAll(items: readonly JsonObject[]): JsonObject[] {
  let start = 0;
  return items.flatMap((item) => {
    const steps = stepsIn(item, start);
    start += lengthOf(steps);
    return steps;
  });
}

/** The error for a failed response. Some failures are the client's fault. */
function failure(response: JsonObject, broken: BrokenError): Error {
  const error = isObject(response.error) ? response.error : {};
  const problem = { code: stringIn(error.code), message: stringIn(error.message) };
  const text = JSON.stringify(error);
  return reasonOf(problem, 400) === undefined
    ? broken('The upstream ended the response with an error:', text)
    : refusalError({ status: 400, headers: {}, text, sent: [], prompt: '' }, undefined);
}

/** @throws ApiError `upstreamError`, or `invalidRequest` if the upstream reports that the request is invalid */
export function completionOf(answer: JsonObject, broken: BrokenError): JsonObject {
  if (answer.status === 'failed' || isObject(answer.error)) throw failure(answer, broken);
  if (!Array.isArray(answer.output)) throw broken('The response has no output.');
  const items = objectsIn(answer.output);
  const steps = stepsOfAll(items);
  return {
    id: answer.id,
    created: answer.created_at,
    choices: [
      {
        index: 0,
        message: messageOf(steps),
        logprobs: chatLogprobs(steps.flatMap(({ logprobs }) => objectsIn(logprobs))),
        finish_reason: finishOf(answer, items.some(isCall)),
      },
    ],
    usage: isObject(answer.usage) ? usageOf(answer.usage) : undefined,
  };
}

/** The field of a chunk's delta for each type of event. */
const deltas: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'content',
  'response.refusal.delta': 'refusal',
  'response.reasoning_text.delta': 'reasoning_content',
  'response.reasoning_summary_text.delta': 'reasoning_content',
};

/** The state of an item in a stream. */
type OpenItem = {
  /** The index of its tool call, or -1. */
  call: number;
  /** Length of the text or arguments read so far, in characters. */
  length: number;
  /** Extra fields for its first delta. */
  phase: JsonObject;
  /** Start of each part within the content of the message, in characters. */
  starts: Map<unknown, number>;
  /** The number of annotations read. */
  annotations: number;
};

export class ResponsesReader implements EventReader {
  isDone = false;
  readonly #broken: BrokenError;
  readonly #items = new Map<unknown, OpenItem>();
  #head: JsonObject = {};
  #calls = 0;
  /** Length of all texts so far, in characters. */
  #length = 0;

  constructor(broken: BrokenError) {
    this.#broken = broken;
  }

  read({ data, event: name }: { data: string; event?: string | undefined }): JsonObject[] {
    const event = parseJson(data);
    if (!isObject(event)) throw this.#broken('A stream event is not an object:', data);
    const type = stringIn(event.type ?? name);
    const field = Object.hasOwn(deltas, type) ? deltas[type] : undefined;
    if (field !== undefined) return this.#delta(event, field);
    const response = isObject(event.response) ? event.response : {};
    switch (type) {
      case 'response.created':
        this.#head = { id: response.id, created: response.created_at };
        return this.#chunk({ role: 'assistant', content: '' });
      case 'response.output_item.added':
        return this.#open(event);
      case 'response.reasoning_summary_part.added':
        return this.#nextPart(event);
      case 'response.output_text.annotation.added':
        return this.#annotate(event);
      case 'response.function_call_arguments.delta':
        return this.#arguments(event.output_index, stringIn(event.delta));
      case 'response.output_item.done':
        return this.#close(event);
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(response);
      case 'response.failed':
        throw failure(response, this.#broken);
      case 'error':
        throw failure({ error: isObject(event.error) ? event.error : event }, this.#broken);
      default:
        return [];
    }
  }

  #chunk(delta: JsonObject, finish: string | null = null, logprobs?: JsonObject): JsonObject[] {
    return [{ ...this.#head, choices: [{ index: 0, delta, finish_reason: finish, logprobs }] }];
  }

  #itemOf(place: unknown): OpenItem {
    const item = this.#items.get(place) ?? {
      call: -1,
      length: 0,
      phase: {},
      starts: new Map(),
      annotations: 0,
    };
    this.#items.set(place, item);
    return item;
  }

  #open({ item, output_index: place }: JsonObject): JsonObject[] {
    if (!isObject(item)) return [];
    const open = this.#itemOf(place);
    if (item.type === 'message') open.phase = phaseOf(item);
    if (!isCall(item)) return [];
    open.call = this.#calls++;
    return this.#chunk({ tool_calls: [{ index: open.call, ...callOf(item, '') }] });
  }

  #delta(
    { content_index: part = 0, delta, logprobs, output_index: place }: JsonObject,
    field: string,
  ): JsonObject[] {
    const text = stringIn(delta);
    if (text === '') return [];
    const open = this.#itemOf(place);
    const isFirst = open.length === 0;
    open.length += text.length;
    if (field !== 'content') return this.#chunk({ [field]: text });
    if (!open.starts.has(part)) open.starts.set(part, this.#length);
    this.#length += text.length;
    return this.#text({ content: text, ...(isFirst && open.phase) }, isFirst, chatLogprobs(logprobs));
  }

  #text(delta: JsonObject, isFirst: boolean, logprobs: JsonObject | undefined): JsonObject[] {
    if (isFirst) beginText(delta, 'message');
    return this.#chunk(delta, null, logprobs);
  }

  #annotate({ annotation, content_index: part = 0, output_index: place }: JsonObject): JsonObject[] {
    if (!isObject(annotation)) return [];
    const open = this.#itemOf(place);
    open.annotations += 1;
    return this.#chunk({ annotations: [chatAnnotation(annotation, open.starts.get(part) ?? this.#length)] });
  }

  /** Parts of a reasoning summary become paragraphs. */
  #nextPart({ output_index: place }: JsonObject): JsonObject[] {
    return this.#itemOf(place).length === 0 ? [] : this.#chunk({ reasoning_content: '\n\n' });
  }

  #arguments(place: unknown, text: string): JsonObject[] {
    const open = this.#itemOf(place);
    open.length += text.length;
    if (text === '' || open.call < 0) return [];
    return this.#chunk({ tool_calls: [{ index: open.call, function: { arguments: text } }] });
  }

  /** Some servers send an item only when it is complete. */
  #close({ item, output_index: place }: JsonObject): JsonObject[] {
    if (!isObject(item)) return [];
    const hasBegun = this.#items.has(place);
    const opened = isCall(item) && !hasBegun ? this.#open({ item, output_index: place }) : [];
    const open = this.#itemOf(place);
    if (isCall(item))
      return [...opened, ...(open.length === 0 ? this.#arguments(place, argumentsOf(item)) : [])];
    // The text arrived before, but its seal arrives only with the complete item.
    if (open.length > 0)
      return [...this.#unread(item, open), ...sealSteps(item).flatMap((step) => this.#chunk(step))];
    const steps = stepsIn(item, this.#length);
    this.#length += lengthOf(steps);
    return steps.flatMap(({ logprobs, ...delta }, index) =>
      this.#text(delta, index === 0 && item.type === 'message', chatLogprobs(logprobs)),
    );
  }

  /** Some servers send annotations only with the complete item. */
  #unread({ content }: JsonObject, { annotations, starts }: OpenItem): JsonObject[] {
    const all = objectsIn(content).flatMap((part, index) =>
      objectsIn(part.annotations).map((one) => chatAnnotation(one, starts.get(index) ?? this.#length)),
    );
    const unread = all.slice(annotations);
    return unread.length === 0 ? [] : this.#chunk({ annotations: unread });
  }

  #finish(response: JsonObject): JsonObject[] {
    this.isDone = true;
    const usage = isObject(response.usage) ? usageOf(response.usage) : undefined;
    return [
      ...this.#chunk({}, finishOf(response, this.#calls > 0)),
      ...(usage === undefined ? [] : [{ ...this.#head, choices: [], usage }]),
    ];
  }
}
