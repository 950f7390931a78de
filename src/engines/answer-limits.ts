/** Limits on the length and duration of a reply. They apply even after the client disconnects. Contract section 7. */

import { ApiError } from '../errors.ts';
import { AnswerSize } from './answer-size.ts';
import { DerivedSignal } from './derived-signal.ts';
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput } from './types.ts';

export type AnswerLimits = {
  /** Most characters of text, across all choices. */
  characters: number;
  /** Longest time from the request to the engine until the reply ends. */
  milliseconds: number;
};

export const answerLimits: AnswerLimits = Object.freeze({ characters: 2_000_000, milliseconds: 30 * 60_000 });

export class AnswerLimitError extends ApiError {
  /** The exceeded limit, as a sentence. */
  readonly limit: string;

  constructor(code: 'upstreamError' | 'upstreamTimeout', limit: string) {
    super(code, {
      message: `${limit} Nothing was charged. Request a shorter response.`,
      // A client can request more than the service allows.
      isProvokable: true,
      cause: new Error(limit),
    });
    this.limit = limit;
  }
}

const tooLong = (most: number) =>
  new AnswerLimitError(
    'upstreamError',
    `The response exceeded the limit of ${most.toLocaleString('en-US')} characters.`,
  );
const tooLarge = () =>
  new AnswerLimitError('upstreamError', "The non-text parts of the response exceeded the service's limit.");

function tooSlow(milliseconds: number): AnswerLimitError {
  const minutes = milliseconds / 60_000;
  const limit = minutes >= 1 ? `${minutes} minutes` : `${milliseconds / 1000} seconds`;
  return new AnswerLimitError('upstreamTimeout', `The response exceeded the limit of ${limit}.`);
}

function deadlineOf(signal: AbortSignal, milliseconds: number): DerivedSignal {
  const deadline = new DerivedSignal(signal);
  deadline.abortAfter(milliseconds, () => tooSlow(milliseconds));
  return deadline;
}

function sizeWithin({ characters }: AnswerLimits): AnswerSize {
  return new AnswerSize(characters, { tooLong: () => tooLong(characters), tooLarge });
}

function limitedChunks(
  engine: ChatEngine,
  input: CompletionInput,
  signal: AbortSignal,
  limits: AnswerLimits,
  call: ChatCall | undefined,
): AsyncIterator<CompletionChunk, void> {
  const deadline = deadlineOf(signal, limits.milliseconds);
  const chunks = engine.stream(input, deadline.signal, call)[Symbol.asyncIterator]();
  const size = sizeWithin(limits);
  return {
    async next() {
      try {
        const result = await chunks.next();
        if (result.done) deadline.end();
        else for (const { delta, logprobs } of result.value.choices) size.add(delta, logprobs);
        return result;
      } catch (error) {
        deadline.end();
        deadline.abort(error);
        throw error;
      }
    },
    async return() {
      deadline.end();
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
}

/** Wraps an engine so that `complete` and streams throw AnswerLimitError past a limit. */
export function limitedChat(engine: ChatEngine, limits: AnswerLimits): ChatEngine {
  return {
    ...engine,
    async complete(input, signal, call) {
      const deadline = deadlineOf(signal, limits.milliseconds);
      try {
        const completion = await engine.complete(input, deadline.signal, call);
        const size = sizeWithin(limits);
        for (const { logprobs, message } of completion.choices) size.add(message, logprobs);
        return completion;
      } finally {
        deadline.end();
      }
    },
    stream: (input, signal, call) => ({
      [Symbol.asyncIterator]: () => limitedChunks(engine, input, signal, limits, call),
    }),
  };
}
