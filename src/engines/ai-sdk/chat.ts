/** Chat through a provider package of the AI SDK. Contract section 15, decision 0033. */

import { ApiError } from '../../errors.ts';
import type { CreateProvider } from '../../upstreams-file/packages.ts';
import { abortable } from '../abortable.ts';
import { DerivedSignal } from '../derived-signal.ts';
import type { ChatEngine, CompletionChunk, CompletionInput } from '../types.ts';
import { completionOf } from '../upstream/answers.ts';
import { ChunkReader } from '../upstream/chunks.ts';
import { UpstreamProblem } from '../upstream/errors.ts';
import { TooFew } from '../upstream/known-limits.ts';
import { createTransport, type UpstreamOptions } from '../upstream/transport.ts';
import { completionFrom, PartReader } from './answer.ts';
import { Connection, ProviderCall } from './connection.ts';
import { callOptions } from './options.ts';

export type AiSdkChatOptions = UpstreamOptions & { create: CreateProvider };

/** Errors that packages throw for requests that the provider's API cannot express. */
const unsupported: ReadonlySet<string> = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
]);
/** Errors whose messages contain only the names of settings. */
const ofSettings: ReadonlySet<string> = new Set(['AI_LoadAPIKeyError', 'AI_LoadSettingError']);

/** Maps an error that a package threw. Its message may quote the response, so the log gets only its name. */
function packageError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { message = '', name = 'Error' } = error instanceof Error ? error : {};
  if (unsupported.has(name))
    return new ApiError('invalidRequest', {
      message: 'The model does not support part of this request, such as a content type or a tool.',
      reason: 'unsupported_value',
      cause: new UpstreamProblem(`The provider's package rejected the request: ${name}.`),
    });
  const why = ofSettings.has(name) ? `${name}: ${message}` : name;
  return new ApiError('upstreamError', {
    cause: new UpstreamProblem(`The provider's package could not read the response: ${why}`),
  });
}

/** Creates the engine without contacting the upstream. */
export function createAiSdkChat(options: AiSdkChatOptions): ChatEngine {
  const { apiKey, create, url } = options;
  // The package sets the headers that contain the key.
  const transport = createTransport({ ...options, keyHeaders: () => ({}) });
  const connection = new Connection(url, transport);
  const { baseURL, fetch } = connection;
  const provider = create({ baseURL, ...(apiKey !== undefined && { apiKey }), fetch });

  function failureOf(error: unknown, call: ProviderCall, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return call.failure ? transport.failure(call.failure.error, signal) : packageError(error);
  }

  async function* chunks(
    input: CompletionInput,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionChunk, void, undefined> {
    const derived = new DerivedSignal(signal);
    const call = new ProviderCall(input, true);
    connection.begin(derived.signal, call);
    const reader = new ChunkReader(input, transport.broken);
    const parts = new PartReader(transport.broken);
    try {
      const options = callOptions(input, derived.signal);
      const { stream } = await provider.languageModel(input.model).doStream(options);
      const source = stream.getReader();
      for (let next = await source.read(); !next.done; next = await source.read()) {
        signal.throwIfAborted();
        for (const read of parts.read(next.value)) {
          const chunk = reader.chunk(read);
          if (reader.hasGrown) call.silent = 0;
          if (chunk !== undefined) yield chunk;
        }
      }
      yield reader.last(parts.isDone);
    } catch (error) {
      throw failureOf(error, call, signal);
    } finally {
      call.exchange?.abort(new Error('The reader stopped.'));
      derived.end();
    }
  }

  return {
    kind: 'upstream',
    // The operator's file lists the models.
    models: async () => [],
    check({ n }) {
      if ((n ?? 1) > 1) throw new TooFew('choices', 1, n ?? 1);
    },
    async complete(input, signal) {
      const derived = new DerivedSignal(signal);
      const call = new ProviderCall(input, false);
      connection.begin(derived.signal, call);
      try {
        const options = callOptions(input, derived.signal);
        const result = await provider.languageModel(input.model).doGenerate(options);
        return completionOf(completionFrom(result, transport.broken), input, transport.broken);
      } catch (error) {
        throw failureOf(error, call, signal);
      } finally {
        derived.end();
      }
    },
    stream: (input, signal) => ({
      [Symbol.asyncIterator]: () => abortable(signal, (gone) => chunks(input, gone)),
    }),
  };
}
