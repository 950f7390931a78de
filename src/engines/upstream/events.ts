/** Server-sent events out of the bytes of an exchange. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Exchange } from './exchange.ts';

/** Longest event, in characters: a chunk can carry a whole picture or a long tool call, but not anything. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;

/**
 * Reads the events as they come, those of one read together. Does not read ahead. Bytes that are no UTF-8 become
 * U+FFFD, as the standard says.
 *
 * @throws what the exchange throws; an Error for an event that is too long
 */
export async function* readEvents(exchange: Exchange): AsyncGenerator<EventSourceMessage[], void, undefined> {
  let events: EventSourceMessage[] = [];
  let fault: Error | undefined;
  const decoder = new TextDecoder();
  const parser = createParser({
    maxBufferSize: MAX_EVENT_LENGTH,
    onEvent: (event) => events.push(event),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') fault = error;
    },
  });
  const take = () => {
    if (fault !== undefined) throw fault;
    const taken = events;
    events = [];
    return taken;
  };

  for (let pieces = await exchange.read(); pieces !== null; pieces = await exchange.read()) {
    for (const piece of pieces) {
      parser.feed(decoder.decode(piece, { stream: true }));
      // A parser that gave up must not be fed again.
      if (fault !== undefined) throw fault;
    }
    if (events.length > 0) yield take();
  }
  // Some servers end without the empty line that completes the last event.
  parser.feed(`${decoder.decode()}\n\n`);
  yield take();
}
