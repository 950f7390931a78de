import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { loopShare } from '../../concurrency/loop-share.ts';
import type { Exchange } from './exchange.ts';

/** Longest event, in characters. Allows for a complete image or a long tool call. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
/** Most characters that a stream may send without an event. Keep-alive comments need far fewer. */
const MAX_SILENT_LENGTH = 4 * 1024 * 1024;

/** Cost of parsing and forwarding an event: a fixed part, and a part by length. */
const EVENT_MICROSECONDS = 25;
const CHARACTERS_PER_MICROSECOND = 100;

/** Normalizes line endings, because the parser needs quadratic time for a stream of lone CRs. */
class LineEnds {
  #endsWithReturn = false;

  feed(text: string): string {
    const from = this.#endsWithReturn && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#endsWithReturn = text.endsWith('\r');
    const rest = from === 0 ? text : text.slice(from);
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  }
}

/** Yields events in batches, without reading ahead. Invalid UTF-8 becomes U+FFFD. Throws if an event is too long. */
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
      // Do not feed a parser that has failed.
      if (fault !== undefined) throw fault;
    }
    if (events.length > 0) {
      const turn = loopShare.take(events.length * EVENT_MICROSECONDS + silent / CHARACTERS_PER_MICROSECOND);
      if (turn !== undefined) await turn;
      silent = 0;
      yield take();
    } else if (silent > MAX_SILENT_LENGTH) {
      throw new Error(`The stream sent ${silent} characters without an event.`);
    }
  }
  // Some servers omit the final empty line that completes the last event.
  parser.feed(`${decoder.decode()}\n\n`);
  yield take();
}
