/** Chat with any OpenAI-compatible server. Contract sections 7 and 8. */
import { abortable } from '../abortable.ts';
import type { ChatEngine, CompletionChunk, CompletionInput } from '../types.ts';
import { completionOf } from './answers.ts';
import { ChunkReader } from './chunks.ts';
import { refusesField } from './errors.ts';
import { readEvents } from './events.ts';
import type { Exchange } from './exchange.ts';
import { isObject, type JsonObject } from './json.ts';
import { KnownLimits } from './known-limits.ts';
import type { ModelMap } from './model-map.ts';
import { createModelList } from './models.ts';
import { createTransport, type UpstreamOptions } from './transport.ts';

export type UpstreamChatOptions = UpstreamOptions & {
  /** `CHAT_MODEL`, parsed by `parseModelMap`. */
  models: ModelMap;
};

const PATH = '/chat/completions';
const DONE = '[DONE]';
/** Longest part of a stream without output, in characters. */
const MAX_IDLE_LENGTH = 32 * 1024 * 1024;
/** Added per event without output, because parsing it costs time. */
const EVENT_LENGTH = 100;

export function createUpstreamChat(options: UpstreamChatOptions): ChatEngine {
  const transport = createTransport(options);
  const list = createModelList(transport, options.models);
  const limits = new KnownLimits('choices');
  /** Some servers reject the field that requests token counts. From then on, tokens are estimated. */
  let takesStreamOptions = true;

  const bodyOf = (input: CompletionInput): JsonObject => ({
    ...input,
    model: list.upstreamName(input.model),
  });

  async function openStream(input: CompletionInput, signal: AbortSignal): Promise<Exchange> {
    const body: JsonObject = { ...bodyOf(input), stream: true };
    const given = isObject(body.stream_options) ? body.stream_options : undefined;
    const withUsage = { ...body, stream_options: { ...given, include_usage: true } };
    const isOurs = given === undefined;
    try {
      return await transport.events({
        method: 'POST',
        path: PATH,
        body: takesStreamOptions || !isOurs ? withUsage : body,
        signal,
      });
    } catch (error) {
      // The upstream only validated the body, so a second request does not repeat any work.
      if (!isOurs || !takesStreamOptions || !refusesField(error, 'stream_options')) throw error;
      takesStreamOptions = false;
      return transport.events({ method: 'POST', path: PATH, body, signal });
    }
  }

  async function* chunks(
    input: CompletionInput,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionChunk, void, undefined> {
    const exchange = await openStream(input, signal);
    const reader = new ChunkReader(input, transport.broken);
    let isDone = false;
    let idle = 0;
    try {
      for await (const events of readEvents(exchange)) {
        for (const event of events) {
          signal.throwIfAborted();
          isDone = event.data === DONE;
          if (isDone) break;
          const chunk = reader.chunk(event);
          idle = reader.hasGrown ? 0 : idle + event.data.length + EVENT_LENGTH;
          if (idle > MAX_IDLE_LENGTH)
            throw transport.broken(`The stream sent ${idle} characters without output.`);
          if (chunk !== undefined) yield chunk;
        }
        if (isDone) break;
      }
      yield reader.last(isDone);
    } catch (error) {
      limits.note(input.model, error);
      throw transport.failure(error, signal);
    } finally {
      if (isDone) exchange.release();
      else exchange.abort(new Error('The reader stopped.'));
    }
  }

  return {
    kind: 'upstream',
    models: list.models,
    check: ({ model, n }) => limits.check(model, n ?? 1),
    async complete(input, signal) {
      const body = bodyOf(input);
      if (body.stream) body.stream = false;
      const answer = await transport.json({ method: 'POST', path: PATH, body, signal });
      try {
        return completionOf(answer, input, transport.broken);
      } catch (error) {
        limits.note(input.model, error);
        throw error;
      }
    },
    stream(input, signal) {
      return { [Symbol.asyncIterator]: () => abortable(signal, (gone) => chunks(input, gone)) };
    },
  };
}
