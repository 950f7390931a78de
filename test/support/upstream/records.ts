/** The test upstream's records of its calls. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

export type CallRecord = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
  /** When the call arrived, in milliseconds since 1970, like all times here. */
  at: number;
  /** When the connection closed before the response was complete; null if it did not. */
  abortedAt: number | null;
  endedAt: number | null;
  /** The number of bytes sent in the response's body. */
  bytes: number;
  chunks: number;
};

/** The numbers of calls in total and by kind, and of connections, aborts, bytes, and chunks. */
export type Counters = {
  calls: number;
  chat: number;
  images: number;
  embeddings: number;
  search: number;
  models: number;
  other: number;
  /** The number of accepted connections. */
  connections: number;
  /** The number of calls in flight. */
  open: number;
  aborted: number;
  bytes: number;
  chunks: number;
};

/** The counters, and the latest calls in order. */
export type Calls = Counters & { last: CallRecord[] };

/** The number of calls to keep. The counters count all calls. */
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

/** The counters and the latest calls of the test upstream. */
export class Records {
  counters = zero();
  #last: CallRecord[] = [];

  /** Starts the record of a call, and updates it when its response ends. */
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

  /** Counts bytes and chunks that were written to a response. */
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
