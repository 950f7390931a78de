import { EventSourceParserStream } from 'eventsource-parser/stream';
import { connectionFailed, errorOf } from './errors.ts';
import type { components } from './schema.d.ts';

type Schemas = components['schemas'];

/** An event of a streamed chat: `start`, each `delta`, then `done`. An interrupted stream throws. */
export type ChatEvent = Schemas['ChatStreamStart'] | Schemas['ChatStreamDelta'] | Schemas['ChatStreamDone'];

/** A chunk of a streamed chat completion, in OpenAI's format. */
export type ChatCompletionChunk = Schemas['CompletionChunk'];

type ServerEvent = { event: string; data: string };

const LAST = '[DONE]';

/**
 * Yields the events of a chat stream as they arrive. Leaving the loop early ends the stream.
 *
 * @throws ParleyError with the service's code, or `connectionFailed` if the stream ends before `done`
 */
export async function* chatEvents(response: Response): AsyncGenerator<ChatEvent, void, undefined> {
  for await (const { event, data } of serverEvents(response)) {
    const parsed = parse(response, data);
    if (event === 'error') throw errorOf(response, parsed);
    // Ignore events that newer versions of the service add.
    if (event === 'start' || event === 'delta' || event === 'done')
      yield { event, data: parsed } as ChatEvent;
    if (event === 'done') return;
  }
  throw connectionFailed(new Error('The stream ended before its last event.'));
}

/**
 * Yields the chunks of a chat completion stream as they arrive. Leaving the loop early ends the stream.
 *
 * @throws ParleyError with the service's code, or `connectionFailed` if the stream ends before `[DONE]`
 */
export async function* completionChunks(
  response: Response,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for await (const { data } of serverEvents(response)) {
    if (data === LAST) return;
    const parsed = parse(response, data) as ChatCompletionChunk | { error: unknown };
    if ('error' in parsed) throw errorOf(response, parsed);
    yield parsed;
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
