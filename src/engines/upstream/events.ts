/** Server-sent events out of the bytes of an exchange. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Exchange } from './exchange.ts';

/** Longest event, in characters: a chunk can carry a whole picture or a long tool call, but not anything. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
/** What a stream may send without an event, in characters: comments that keep a connection open are far less. */
const MAX_SILENT_LENGTH = 4 * 1024 * 1024;

/** Line ends as the parser reads them fast: a stream of lone CRs would take it time in their number's square. */
class LineEnds {
  #endsWithReturn = false;

  feed(text: string): string {
    const from = this.#endsWithReturn && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#endsWithReturn = text.endsWith('\r');
    const rest = from === 0 ? text : text.slice(from);
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }
}

/**
 * Reads the events as they come, those of one read together. Does not read ahead. Bytes that are no UTF-8 become
 * U+FFFD, as the standard says.
 *
 * @throws what the exchange throws; an Error for an event that is too long, and for too much without one
 */
export async function* readEvents(exchange: Exchange): AsyncGenerator<EventSourceMessage[], void, undefined> {
  let events: EventSourceMessage[] = [];
  let fault: Error | undefined;
  let silent = 0;
  const decoder = new TextDecoder();
  const lineEnds = new LineEnds();
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
      const text = decoder.decode(piece, { stream: true });
      silent += text.length;
      parser.feed(lineEnds.feed(text));
      // A parser that gave up must not be fed again.
      if (fault !== undefined) throw fault;
    }
    if (events.length > 0) {
      silent = 0;
      yield take();
    } else if (silent > MAX_SILENT_LENGTH) {
      throw new Error(`The stream sent ${silent} characters without an event.`);
    }
  }
  // Some servers end without the empty line that completes the last event.
  parser.feed(`${decoder.decode()}\n\n`);
  yield take();
}
