/** Chat through a server with any of the supported APIs. Contract sections 7, 8, and 15. */
import { writeInSlices } from '../../bodies/write-in-slices.ts';
import { continueTrace } from '../../telemetry/tracing.ts';
import { abortable } from '../abortable.ts';
import { completionsDialect } from '../dialects/completions.ts';
import type { ChatQuery, Dialect } from '../dialects/dialect.ts';
import type { ChatCall, ChatEngine, CompletionChunk, CompletionInput } from '../types.ts';
import { completionOf } from './answers.ts';
import { ChunkReader } from './chunks.ts';
import { Concessions } from './concessions.ts';
import { readEvents } from './events.ts';
import type { JsonObject } from './json.ts';
import { KnownLimits, TooFew } from './known-limits.ts';
import type { ModelMap } from './model-map.ts';
import { createModelList } from './models.ts';
import { createTransport, type Request, type UpstreamOptions } from './transport.ts';

export type UpstreamChatOptions = UpstreamOptions & {
  /** `CHAT_MODEL`, parsed by `parseModelMap`. */
  models: ModelMap;
  /** Defaults to the chat completions dialect. */
  dialect?: Dialect;
};

/** Most characters that a stream may send without output. */
const MAX_IDLE_LENGTH = 32 * 1024 * 1024;
/** Added for each event without output, because parsing an event takes time. */
const EVENT_LENGTH = 100;
/** A later count is of no use to the client. */
const COUNT_MS = 5000;

/** Creates the engine without contacting the upstream. */
export function createUpstreamChat(options: UpstreamChatOptions): ChatEngine {
  const { dialect = completionsDialect } = options;
  const { keyHeaders } = dialect;
  const transport = options.transport ?? createTransport({ ...options, ...(keyHeaders && { keyHeaders }) });
  const list = createModelList(transport, options.models, dialect.modelsPath);
  const limits = new KnownLimits('choices');
  const concessions = new Concessions(dialect.concessions ?? []);

  function queryOf(input: CompletionInput, call: ChatCall | undefined, isStream: boolean): ChatQuery {
    const model = list.upstreamName(input.model);
    return { input, model, isStream, original: call?.original, maxOutputTokens: call?.maxOutputTokens };
  }

  function requestOf(
    { input, original }: ChatQuery,
    path: string,
    body: JsonObject,
    signal: AbortSignal,
  ): Request {
    const headers = original?.language === dialect.language ? original?.headers : undefined;
    const isTranslated = dialect !== completionsDialect;
    return { method: 'POST', path, headers, body, signal, ...(isTranslated && { sent: Object.keys(input) }) };
  }

  async function ask<T>(
    query: ChatQuery,
    signal: AbortSignal,
    send: (request: Request) => Promise<T>,
  ): Promise<T> {
    const body = dialect.body(query);
    // A body that passes through unchanged has been serialized before.
    if (dialect !== completionsDialect)
      for (const value of Object.values(body))
        if (typeof value === 'object' && value !== null) await writeInSlices(value);
    return await concessions.send(query.model, query.input, body, (sent) =>
      send(requestOf(query, dialect.path, sent, signal)),
    );
  }

  async function* chunks(
    input: CompletionInput,
    signal: AbortSignal,
    call: ChatCall | undefined,
  ): AsyncGenerator<CompletionChunk, void, undefined> {
    const exchange = await ask(queryOf(input, call, true), signal, transport.events);
    const reader = new ChunkReader(input, transport.broken);
    const events = dialect.events(transport.broken);
    let idle = 0;
    try {
      for await (const batch of readEvents(exchange)) {
        for (const event of batch) {
          signal.throwIfAborted();
          idle += event.data.length + EVENT_LENGTH;
          for (const read of events.read(event)) {
            const chunk = reader.chunk(read);
            if (reader.hasGrown) idle = 0;
            if (chunk !== undefined) yield chunk;
          }
          if (events.isDone) break;
          if (idle > MAX_IDLE_LENGTH)
            throw transport.broken(`The stream sent ${idle} characters without output.`);
        }
        if (events.isDone) break;
      }
      yield reader.last(events.isDone);
    } catch (error) {
      limits.note(input.model, error);
      throw transport.failure(error, signal);
    } finally {
      if (events.isDone) exchange.release();
      else exchange.abort(new Error('The reader stopped.'));
    }
  }

  async function countTokens(
    input: CompletionInput,
    signal: AbortSignal,
    call?: ChatCall,
  ): Promise<number | undefined> {
    const counter = dialect.countTokens;
    if (counter === undefined) return undefined;
    const query = queryOf(input, call, false);
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
    continueTrace(inTime, signal);
    const answer = await transport
      .json(requestOf(query, counter.path, counter.body(query), inTime))
      .catch(() => undefined);
    return answer && counter.count(answer);
  }

  return {
    kind: 'upstream',
    models: list.models,
    check({ model, n }) {
      if (!dialect.takesChoices && (n ?? 1) > 1) throw new TooFew('choices', 1, n ?? 1);
      limits.check(model, n ?? 1);
    },
    ...(dialect.countTokens && { countTokens }),
    async complete(input, signal, call) {
      const answer = await ask(queryOf(input, call, false), signal, transport.json);
      try {
        return completionOf(dialect.completion(answer, transport.broken), input, transport.broken);
      } catch (error) {
        limits.note(input.model, error);
        throw error;
      }
    },
    stream(input, signal, call) {
      return { [Symbol.asyncIterator]: () => abortable(signal, (gone) => chunks(input, gone, call)) };
    },
  };
}
