/** Translates responses of Anthropic's Messages API to chat completions. Contract section 15. */
import { messageOf } from '../message-steps.ts';
import { detailOf, MESSAGES_FORMAT, type SealedReasoning } from '../reasoning-details.ts';
import { beginText, objectsIn } from '../text-details.ts';
import { isObject, type JsonObject, parseJson, stringIn, wholeNumber } from '../upstream/json.ts';
import type { BrokenError } from '../upstream/transport.ts';
import type { EventReader } from './dialect.ts';

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

function finishOf({
  stop_details: details,
  stop_reason: reason,
  stop_sequence: sequence,
}: JsonObject): JsonObject {
  const known = typeof reason === 'string' && Object.hasOwn(finishReasons, reason);
  return {
    finish_reason: known ? finishReasons[reason] : 'stop',
    // OpenRouter's name for this field.
    ...(known && { native_finish_reason: reason }),
    // vLLM's name for this field.
    ...(typeof sequence === 'string' && { stop_reason: sequence }),
    ...(isObject(details) && { stop_details: details }),
  };
}

/** Anthropic counts tokens read from or written to a cache separately. */
export function usageOf(usage: JsonObject): JsonObject | undefined {
  const input = wholeNumber(usage.input_tokens);
  if (input === undefined) return undefined;
  const read = wholeNumber(usage.cache_read_input_tokens) ?? 0;
  const written = wholeNumber(usage.cache_creation_input_tokens) ?? 0;
  const output = wholeNumber(usage.output_tokens) ?? 0;
  return {
    prompt_tokens: input + read + written,
    completion_tokens: output,
    total_tokens: input + read + written + output,
    prompt_tokens_details: {
      ...{ cached_tokens: read, cache_write_tokens: written },
      ...(isObject(usage.cache_creation) && { cache_creation: usage.cache_creation }),
    },
  };
}

const sealOf = ({ data, signature, thinking, type }: JsonObject): SealedReasoning[] => {
  const value = stringIn(type === 'redacted_thinking' ? data : signature);
  if (value === '' || (type !== 'thinking' && type !== 'redacted_thinking')) return [];
  const kind = type === 'thinking' ? 'signature' : 'data';
  return [{ text: stringIn(thinking), seal: { format: MESSAGES_FORMAT, kind, value } }];
};

const callOf = ({ id, name }: JsonObject, text: string): JsonObject => ({
  id: stringIn(id),
  type: 'function',
  function: { name: stringIn(name), arguments: text },
});

function textStep(step: JsonObject): JsonObject {
  beginText(step, 'block');
  return step;
}

/** The deltas that a stream would have for a block. */
function stepsIn(block: JsonObject): JsonObject[] {
  if (block.type === 'text') {
    const citations = objectsIn(block.citations);
    return [textStep({ content: stringIn(block.text), ...(citations.length > 0 && { citations }) })];
  }
  if (block.type === 'tool_use') return [{ tool_calls: [callOf(block, JSON.stringify(block.input ?? {}))] }];
  const details = sealOf(block).map(detailOf);
  return [
    ...(block.type === 'thinking' ? [{ reasoning_content: stringIn(block.thinking) }] : []),
    ...(details.length === 0 ? [] : [{ reasoning_details: details }]),
  ];
}

/** @throws ApiError `upstreamError` */
export function completionOf(answer: JsonObject, broken: BrokenError): JsonObject {
  const { content, id, usage } = answer;
  if (!Array.isArray(content)) throw broken('The message has no content.');
  const message = messageOf(objectsIn(content).flatMap(stepsIn));
  return {
    id,
    choices: [{ index: 0, message, ...finishOf(answer) }],
    usage: isObject(usage) ? usageOf(usage) : undefined,
  };
}

/** An open block of a stream. `text` is all of its thinking so far, or of its input as JSON. */
type OpenBlock = { block: JsonObject; call: number; text: string; signature: string; hasBegun: boolean };

export class MessagesReader implements EventReader {
  isDone = false;
  readonly #broken: BrokenError;
  readonly #open = new Map<unknown, OpenBlock>();
  #id: unknown;
  #calls = 0;
  #usage: JsonObject = {};

  constructor(broken: BrokenError) {
    this.#broken = broken;
  }

  read({ data, event: name }: { data: string; event?: string | undefined }): JsonObject[] {
    const event = parseJson(data);
    if (!isObject(event)) throw this.#broken('A stream event is not an object:', data);
    switch (event.type ?? name) {
      case 'message_start':
        return this.#start(event);
      case 'content_block_start':
        return this.#openBlock(event);
      case 'content_block_delta':
        return this.#delta(event);
      case 'content_block_stop':
        return this.#close(event);
      case 'message_delta':
        return this.#finish(event);
      case 'message_stop':
        this.isDone = true;
        return [];
      case 'error':
        throw this.#broken('The upstream ended the stream early:', data);
      default:
        return [];
    }
  }

  #chunk(delta: JsonObject, rest: JsonObject = {}): JsonObject[] {
    return [{ id: this.#id, choices: [{ index: 0, delta, finish_reason: null, ...rest }] }];
  }

  #start({ message }: JsonObject): JsonObject[] {
    if (!isObject(message)) return [];
    this.#id = message.id;
    if (isObject(message.usage)) this.#usage = message.usage;
    return this.#chunk({ role: 'assistant', content: '' });
  }

  #openBlock({ content_block: block, index }: JsonObject): JsonObject[] {
    if (!isObject(block)) return [];
    const open: OpenBlock = { block, call: this.#calls, text: '', signature: '', hasBegun: false };
    this.#open.set(index, open);
    if (block.type === 'text' && stringIn(block.text) !== '')
      return this.#write(open, { content: block.text });
    if (block.type === 'thinking' && stringIn(block.thinking) !== '')
      return this.#think(open, stringIn(block.thinking));
    if (block.type !== 'tool_use') return [];
    this.#calls += 1;
    return this.#chunk({ tool_calls: [{ index: open.call, ...callOf(block, '') }] });
  }

  #write(open: OpenBlock, delta: JsonObject): JsonObject[] {
    if (!open.hasBegun) beginText(delta, 'block');
    open.hasBegun = true;
    return this.#chunk(delta);
  }

  #think(open: OpenBlock, text: string): JsonObject[] {
    open.text += text;
    return this.#chunk({ reasoning_content: text });
  }

  #delta({ delta, index }: JsonObject): JsonObject[] {
    const open = this.#open.get(index);
    if (!isObject(delta) || open === undefined) return [];
    const { citation, partial_json: json, signature, text, thinking, type } = delta;
    if (type === 'text_delta') return this.#write(open, { content: stringIn(text) });
    if (type === 'citations_delta')
      return isObject(citation) ? this.#write(open, { citations: [citation] }) : [];
    if (type === 'thinking_delta') return this.#think(open, stringIn(thinking));
    if (type === 'signature_delta') open.signature += stringIn(signature);
    if (type !== 'input_json_delta' || stringIn(json) === '') return [];
    open.text += stringIn(json);
    return this.#arguments(open, stringIn(json));
  }

  #arguments({ call }: OpenBlock, text: string): JsonObject[] {
    return this.#chunk({ tool_calls: [{ index: call, function: { arguments: text } }] });
  }

  #close({ index }: JsonObject): JsonObject[] {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open === undefined) return [];
    const { block, signature, text } = open;
    // A tool call without arguments has no deltas. Some servers send all arguments in the first event.
    if (block.type === 'tool_use')
      return text === '' ? this.#arguments(open, JSON.stringify(block.input ?? {})) : [];
    const sealed = sealOf({ ...block, thinking: text, ...(signature !== '' && { signature }) });
    return sealed.length === 0 ? [] : this.#chunk({ reasoning_details: sealed.map(detailOf) });
  }

  /** The first event counts the input tokens. The last event may repeat them. */
  #finish({ delta, usage }: JsonObject): JsonObject[] {
    if (isObject(usage)) this.#usage = { ...this.#usage, ...usage };
    const counted = usageOf(this.#usage);
    const reason = isObject(delta) && typeof delta.stop_reason === 'string' ? finishOf(delta) : undefined;
    return [
      ...(reason === undefined ? [] : this.#chunk({}, reason)),
      ...(counted === undefined ? [] : [{ id: this.#id, choices: [], usage: counted }]),
    ];
  }
}
