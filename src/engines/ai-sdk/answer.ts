/** Converts results of the AI SDK to chat completions. Contract section 15. */
import type {
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import type { JsonObject } from '../upstream/json.ts';
import type { BrokenError } from '../upstream/transport.ts';

const finishReasons: Readonly<Record<string, string>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  other: 'stop',
};

/** Undefined if the provider gave no finish reason, which means that the reply was cut off. */
function finishOf({ raw, unified }: LanguageModelV3FinishReason, broken: BrokenError): string | undefined {
  if (unified === 'error') throw broken('The model reported an error:', raw ?? '');
  return raw === undefined ? undefined : finishReasons[unified];
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): JsonObject | undefined {
  const { cacheRead, total: input } = inputTokens;
  const { reasoning, total: output } = outputTokens;
  if (input === undefined && output === undefined) return undefined;
  return {
    prompt_tokens: input ?? 0,
    completion_tokens: output ?? 0,
    total_tokens: (input ?? 0) + (output ?? 0),
    ...(cacheRead !== undefined && { prompt_tokens_details: { cached_tokens: cacheRead } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

const callOf = (id: string, name: string, text: string): JsonObject => ({
  ...{ id, type: 'function' },
  function: { name, arguments: text },
});

/** @throws ApiError `upstreamError` */
export function completionFrom(result: LanguageModelV3GenerateResult, broken: BrokenError): JsonObject {
  const { content, finishReason, response, usage } = result;
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'reasoning') thoughts.push(part.text);
    // Skip calls that the provider executed.
    else if (part.type === 'tool-call' && !part.providerExecuted)
      calls.push(callOf(part.toolCallId, part.toolName, part.input));
  }
  const reason = finishOf(finishReason, broken);
  if (reason === undefined) throw broken('The response has no finish reason.');
  return {
    id: response?.id,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.length === 0 ? null : texts.join(''),
          ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n\n') }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        finish_reason: reason,
      },
    ],
    usage: usageOf(usage),
  };
}

/** Converts the parts of one stream to chunks. */
export class PartReader {
  readonly #broken: BrokenError;
  /** The positions of calls whose arguments were streamed, by call ID. */
  readonly #streamed = new Map<string, number>();
  #calls = 0;
  #id: string | undefined;
  isDone = false;

  constructor(broken: BrokenError) {
    this.#broken = broken;
  }

  /** @throws ApiError `upstreamError` if the model reports an error; the error of an `error` part, unchanged */
  read(part: LanguageModelV3StreamPart): JsonObject[] {
    switch (part.type) {
      case 'stream-start':
        return this.#chunk({ role: 'assistant', content: '' });
      case 'response-metadata':
        this.#id = part.id ?? this.#id;
        return [];
      case 'text-delta':
        return this.#chunk({ content: part.delta });
      case 'reasoning-delta':
        return this.#chunk({ reasoning_content: part.delta });
      case 'tool-input-start':
        if (part.providerExecuted) return [];
        this.#streamed.set(part.id, this.#calls);
        return this.#call(callOf(part.id, part.toolName, ''));
      case 'tool-input-delta':
        return this.#arguments(part.id, part.delta);
      case 'tool-call':
        if (part.providerExecuted || this.#streamed.has(part.toolCallId)) return [];
        return this.#call(callOf(part.toolCallId, part.toolName, part.input));
      case 'finish':
        return this.#finish(part.finishReason, part.usage);
      case 'error':
        throw part.error;
      default:
        return [];
    }
  }

  #chunk(delta: JsonObject, reason: string | null = null): JsonObject[] {
    return [{ id: this.#id, choices: [{ index: 0, delta, finish_reason: reason }] }];
  }

  #call(call: JsonObject): JsonObject[] {
    const index = this.#calls;
    this.#calls += 1;
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }

  #arguments(id: string, text: string): JsonObject[] {
    const index = this.#streamed.get(id);
    if (index === undefined || text === '') return [];
    return this.#chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  #finish(reason: LanguageModelV3FinishReason, usage: LanguageModelV3Usage): JsonObject[] {
    const known = finishOf(reason, this.#broken);
    const counted = usageOf(usage);
    this.isDone = known !== undefined;
    return [
      ...(known === undefined ? [] : this.#chunk({}, known)),
      ...(counted === undefined ? [] : [{ id: this.#id, choices: [], usage: counted }]),
    ];
  }
}
