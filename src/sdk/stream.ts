/** Streamed answers, as events with their types. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { connectionFailed, errorOf } from './errors.ts';
import type { components } from './schema.d.ts';

type Schemas = components['schemas'];

/** An event of a streamed chat: `start`, then each `delta`, then `done`. A stream that breaks off throws. */
export type ChatEvent = Schemas['ChatStreamStart'] | Schemas['ChatStreamDelta'] | Schemas['ChatStreamDone'];

/** A chunk of a streamed chat completion, as OpenAI's clients get it. */
export type ChatCompletionChunk = Schemas['CompletionChunk'];

type ServerEvent = { event: string; data: string };

/** The end of a stream of chat completions. */
const LAST = '[DONE]';

/**
 * The events of a chat's stream, as they come. Leaving the loop early ends the stream.
 *
 * @throws ParleyError with the service's code, or `connectionFailed` when the stream ended before `done`
 */
export async function* chatEvents(response: Response): AsyncGenerator<ChatEvent, void, undefined> {
  for await (const { event, data } of serverEvents(response)) {
    const told = parse(response, data);
    if (event === 'error') throw errorOf(response, told);
    // What a later version of the service sends besides is passed over.
    if (event === 'start' || event === 'delta' || event === 'done') yield { event, data: told } as ChatEvent;
    if (event === 'done') return;
  }
  throw connectionFailed(new Error('The stream ended before its last event.'));
}

/**
 * The chunks of a stream of chat completions, as they come. Leaving the loop early ends the stream.
 *
 * @throws ParleyError with the service's code, or `connectionFailed` when the stream ended before its end
 */
export async function* completionChunks(
  response: Response,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for await (const { data } of serverEvents(response)) {
    if (data === LAST) return;
    const told = parse(response, data) as ChatCompletionChunk | { error: unknown };
    if ('error' in told) throw errorOf(response, told);
    yield told;
  }
  throw connectionFailed(new Error(`The stream ended before its ${LAST}.`));
}

function parse(response: Response, data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw errorOf(response, undefined);
  }
}

async function* serverEvents({ body }: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (body === null) return;
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { event: value.event ?? 'message', data: value.data };
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
