/** Server-sent events of an answer whose body is read as a stream. */
import { EventSourceParserStream } from 'eventsource-parser/stream';

export type ServerEvent = { event: string; data: string };

/**
 * The events of a stream, as they come. Ends with the stream; leaving the loop early cancels it.
 *
 * @param body - from `api.POST(…, { parseAs: 'stream' })`
 */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
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
