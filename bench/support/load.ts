/** What the load client is told, and what it answers. */

export type Load = {
  /** Of chat completions. */
  url: string;
  /** Used in turn, stream by stream. */
  keys: string[];
  model: string;
  /** So many at once, their starts spread evenly over `rampMs`. */
  streams: number;
  rampMs: number;
  /** So many streams one after another in each place; where there are several, the first is not measured. */
  generations: number;
  /** Of text, that each stream must have. */
  chunks: number;
};

/** Milliseconds. */
export type Spread = { p50: number; p99: number; max: number };

export type LoadResult = {
  streams: number;
  /** By reason. Those that came whole are in none. */
  broken: Record<string, number>;
  /** Events with text. */
  chunks: number;
  /** From the request to the first byte of the answer's body. */
  firstByte: Spread;
  /** From when the upstream wrote a chunk to when the client read it. */
  chunkDelay: Spread;
  /** Between one chunk and the next. */
  chunkGap: Spread;
};

/** The load client announces itself; every load it then gets is answered by a result. */
export type FromClient = { ready: true } | LoadResult;
