/** The messages to and from the load client. */

export type Load = {
  url: string;
  /** Each stream uses the next key. */
  keys: string[];
  model: string;
  /** Concurrent streams, with starts spread evenly over `rampMs`. */
  streams: number;
  rampMs: number;
  /** Streams per slot, one after another. If there are several, the first is not measured. */
  generations: number;
  /** Text chunks that each stream must have. */
  chunks: number;
};

/** Milliseconds. */
export type Spread = { p50: number; p99: number; max: number };

export type LoadResult = {
  streams: number;
  /** Broken streams by reason. */
  broken: Record<string, number>;
  /** Events with text. */
  chunks: number;
  /** From the request to the first byte of the response body. */
  firstByte: Spread;
  /** From when the upstream wrote a chunk to when the client read it. */
  chunkDelay: Spread;
  chunkGap: Spread;
};

/** The load client reports that it is ready, then replies to each load with a result. */
export type FromClient = { ready: true } | LoadResult;
