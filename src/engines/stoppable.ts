/** Ends an engine's work when its client stops it. The reply is then the text generated so far. Contract section 16. */
import { newId } from '../domain/ids.ts';
import { Stop } from '../domain/stop.ts';
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput, CompletionResult } from './types.ts';
import { charactersOf, estimatedUsage } from './upstream/usage.ts';

const STOPPED = 'stop';

/** Records that a stop ended the work. Returns false if the work ended for another reason. */
function cutShort({ reason }: AbortSignal): boolean {
  if (!(reason instanceof Stop)) return false;
  reason.isEffective = true;
  return true;
}

const choicesOf = ({ n }: CompletionInput) => Array.from({ length: n ?? 1 }, (_, index) => index);

const headOf = ({ model }: CompletionInput) => ({
  id: `chatcmpl-${newId().replaceAll('-', '')}`,
  created: Math.floor(Date.now() / 1000),
  model,
  system_fingerprint: null,
});

const emptyCompletion = (input: CompletionInput): CompletionResult => ({
  ...headOf(input),
  object: 'chat.completion',
  choices: choicesOf(input).map((index) => ({
    index,
    message: { role: 'assistant', content: '', refusal: null },
    logprobs: null,
    finish_reason: STOPPED,
  })),
  usage: estimatedUsage(input, 0),
});

class StoppableChunks implements AsyncIterator<CompletionChunk, void> {
  readonly #input: CompletionInput;
  readonly #signal: AbortSignal;
  readonly #chunks: AsyncIterator<CompletionChunk, void>;
  readonly #open: Set<number>;
  #last: CompletionChunk | undefined;
  #characters = 0;
  #ending: CompletionChunk[] | undefined;

  constructor(engine: ChatEngine, input: CompletionInput, signal: AbortSignal, call?: ChatCall) {
    this.#input = input;
    this.#signal = signal;
    this.#chunks = engine.stream(input, signal, call)[Symbol.asyncIterator]();
    this.#open = new Set(choicesOf(input));
  }

  async next(): Promise<IteratorResult<CompletionChunk, void>> {
    if (this.#ending !== undefined) return this.#nextOfEnding(this.#ending);
    try {
      const result = await this.#chunks.next();
      if (!result.done) this.#note(result.value);
      return result;
    } catch (error) {
      if (!cutShort(this.#signal)) throw error;
      this.#ending = this.#chunksOfEnding();
      return this.#nextOfEnding(this.#ending);
    }
  }

  async return(): Promise<IteratorResult<CompletionChunk, void>> {
    await this.#chunks.return?.();
    return { done: true, value: undefined };
  }

  #note(chunk: CompletionChunk): void {
    this.#last = chunk;
    for (const { delta, finish_reason: finishReason, index } of chunk.choices) {
      this.#characters += charactersOf(delta);
      if (finishReason !== null) this.#open.delete(index);
    }
  }

  #nextOfEnding(ending: CompletionChunk[]): IteratorResult<CompletionChunk, void> {
    const value = ending.shift();
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  #chunksOfEnding(): CompletionChunk[] {
    const { id, created, model, system_fingerprint } = this.#last ?? headOf(this.#input);
    const head = { id, created, model, system_fingerprint, object: 'chat.completion.chunk' as const };
    const delta = this.#last === undefined ? { role: 'assistant' as const, content: '' } : {};
    const ends = [...this.#open].map((index) => ({
      ...head,
      choices: [{ index, delta, logprobs: null, finish_reason: STOPPED }],
    }));
    return [...ends, { ...head, choices: [], usage: estimatedUsage(this.#input, this.#characters) }];
  }
}

/** Wraps an engine so that a stop ends its work without an error. The reply is the text generated so far. */
export function stoppableChat(engine: ChatEngine): ChatEngine {
  return {
    ...engine,
    async complete(input, signal, call) {
      try {
        return await engine.complete(input, signal, call);
      } catch (error) {
        if (!cutShort(signal)) throw error;
        return emptyCompletion(input);
      }
    },
    stream: (input, signal, call) => ({
      [Symbol.asyncIterator]: () => new StoppableChunks(engine, input, signal, call),
    }),
  };
}
