/** What the test upstream remembers of the calls that it got. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

export type CallRecord = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
  /** Milliseconds since 1970, as are all times here. */
  at: number;
  /** When the connection was lost before the answer was whole; null where it was not. */
  abortedAt: number | null;
  endedAt: number | null;
  /** Of the answer's body. */
  bytes: number;
  chunks: number;
};

export type Counters = {
  calls: number;
  chat: number;
  images: number;
  embeddings: number;
  search: number;
  models: number;
  other: number;
  /** Connections that were accepted. */
  connections: number;
  /** Calls under way. */
  open: number;
  aborted: number;
  bytes: number;
  chunks: number;
};

export type Calls = Counters & { last: CallRecord[] };

/** So many calls are kept whole; the counters count all. */
const KEPT = 200;

const zero = (): Counters => ({
  calls: 0,
  chat: 0,
  images: 0,
  embeddings: 0,
  search: 0,
  models: 0,
  other: 0,
  connections: 0,
  open: 0,
  aborted: 0,
  bytes: 0,
  chunks: 0,
});

export class Records {
  counters = zero();
  #last: CallRecord[] = [];

  /** Begins the record of a call, and follows its answer to the end. */
  begin(
    kind: 'chat' | 'images' | 'embeddings' | 'search' | 'models' | 'other',
    record: Pick<CallRecord, 'method' | 'path' | 'headers' | 'body'>,
    response: ServerResponse,
  ): CallRecord {
    const call: CallRecord = {
      ...record,
      at: Date.now(),
      abortedAt: null,
      endedAt: null,
      bytes: 0,
      chunks: 0,
    };
    const { counters } = this;
    counters.calls += 1;
    counters[kind] += 1;
    counters.open += 1;
    this.#last.push(call);
    if (this.#last.length > KEPT) this.#last.shift();
    response.once('close', () => {
      counters.open -= 1;
      call.endedAt = Date.now();
      if (response.writableFinished) return;
      call.abortedAt = call.endedAt;
      counters.aborted += 1;
    });
    return call;
  }

  /** Notes what was written of a call's answer. */
  wrote(call: CallRecord, bytes: number, chunks = 0): void {
    call.bytes += bytes;
    call.chunks += chunks;
    this.counters.bytes += bytes;
    this.counters.chunks += chunks;
  }

  calls(): Calls {
    return { ...this.counters, last: this.#last };
  }

  reset(): void {
    this.counters = { ...zero(), connections: this.counters.connections };
    this.#last = [];
  }
}
