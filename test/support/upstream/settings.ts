/**
 * The settings of the test upstream. They apply to the whole server through its control endpoint, or to one call
 * through its `user` or the end of its model's name, so that each of thousands of streams can have different settings:
 * `"user": "chunks=1200,chunkIntervalMs=50"`, `"model": "test-model@fault=stall,faultAfter=3"`.
 */

/** Words that must never reach a client of the service. Every error body contains them, and the key of the request. */
export const CANARY = 'CANARY-words-of-the-upstream';
export const MODEL = 'test-model';

/** Faults, in the order of the phases in which they occur. */
export const faults = [
  'none',
  /** The server does not listen. Only for the whole server. */
  'refuse',
  /** The connection is reset after the request is read. */
  'reset',
  /** No response. */
  'hang',
  /** An error with `status`. */
  'status',
  'redirect',
  'content-type',
  'bad-json',
  /** Status 200 with an error body. */
  'error-body',
  /** A body with an endless string. */
  'giant',
  /** Headers of 1 MiB. */
  'headers',
  /** An endless stream of comments. */
  'comments',
  /** An endless stream of chunks without output. */
  'empty-chunks',
  /** An endless list of small objects. */
  'members',
  /** The body, or a chunk, contains invalid UTF-8. */
  'invalid-utf8',
  /** The connection is reset after `cutBytes` of the body. */
  'cut-bytes',
  // Only streams, after `faultAfter` chunks:
  /** The stream sends nothing more. */
  'stall',
  /** The stream ends as if it were complete. */
  'truncate',
  /** The connection is reset. */
  'cut',
  'error-event',
  'bad-event',
  // Only streams, at the end:
  /** No `[DONE]`. */
  'no-done',
  /** No `finish_reason`. */
  'no-finish',
  /** `[DONE]`, and the response ends a little later. */
  'late-end',
  /** `[DONE]`, but the response does not end. */
  'linger',
] as const;
export type Fault = (typeof faults)[number];

export type Settings = {
  /** The delay before the headers of the response. */
  headersDelayMs: number;
  /** The delay between the headers and the first chunk, or the body. */
  firstChunkDelayMs: number;
  /** The time between chunks of text. */
  chunkIntervalMs: number;
  /** The pace of a stream, in place of `chunkIntervalMs`. A chunk is a token. */
  tokensPerSecond: number;
  /** The text of every reply; '' for the default, which depends on the request. */
  reply: string;
  /** The number of chunks of filler text; 0 for the words of the reply. */
  chunks: number;
  /** The number of characters in each chunk, if `chunks` is set. */
  chunkSize: number;
  /** The number of choices or images, in place of `n`; 0 to respect `n`. */
  choices: number;
  /** Splits every event into writes of this many bytes; 0 to write whole events. */
  splitBytes: number;
  fault: Fault;
  /** The number of chunks of text before a fault of a stream. */
  faultAfter: number;
  /** The number of bytes before the fault `cut-bytes`. */
  cutBytes: number;
  /** The number of calls that have the fault; 0 for all. */
  faultTimes: number;
  /** The status and error body of the fault `status`. */
  status: number;
  code: string;
  param: string;
  message: string;
  retryAfter: string;
  /**
   * When to report usage: as requested (in a whole response, or with `include_usage`), never, as zero, or with
   * `finish_reason`.
   */
  usage: 'asked' | 'never' | 'zero' | 'with-finish';
  /** Whether to leave out optional fields: fingerprint, logprobs, refusal, role, id, and created. */
  bare: boolean;
  /**
   * The tool calls to make, one per turn, if the client offers a tool of that name, and then a reply with text. Null to
   * call the first tool with valid arguments.
   */
  calls: readonly { name: string; arguments: Record<string, unknown> }[] | null;
  /** Whether chunks contain the time at which they were sent, as `sent_at`, in fractional milliseconds since 1970. */
  stamp: boolean;
};

/** The default settings. */
export const standard: Readonly<Settings> = Object.freeze({
  headersDelayMs: 0,
  firstChunkDelayMs: 0,
  chunkIntervalMs: 0,
  tokensPerSecond: 0,
  chunks: 0,
  reply: '',
  chunkSize: 4,
  choices: 0,
  splitBytes: 0,
  fault: 'none',
  faultAfter: 2,
  cutBytes: 0,
  faultTimes: 0,
  status: 500,
  code: '',
  param: '',
  message: '',
  retryAfter: '',
  usage: 'asked',
  bare: false,
  calls: null,
  stamp: false,
});

/** Settings of the whole server. */
export type ServerSettings = Partial<Settings> & {
  /** The response of `GET /models`. */
  models?: unknown;
  /** Settings for calls whose body contains the word `schedule-0`, `schedule-1`, and so on. */
  schedules?: Partial<Settings>[];
  /** If set, calls with a different key get a 401. */
  apiKey?: string | null;
  /** Fields in a body that cause a 400. */
  refuses?: string[];
  /** Responses to use in place of the default ones, as JSON. */
  completion?: unknown;
  images?: unknown;
  embeddings?: unknown;
  /** The encoding of vectors, regardless of the request. */
  encoding?: 'float' | 'base64';
  search?: unknown;
  /** The data of a stream's events, in place of the default ones. */
  events?: string[];
};

const convention = /^\w+=[\w.-]+(,\w+=[\w.-]+)*$/;

/**
 * Parses settings such as `chunks=5,chunkIntervalMs=10`. Returns none if the text has another format or an unknown
 * name.
 */
export function readSettings(text: unknown): Partial<Settings> {
  if (typeof text !== 'string' || !convention.test(text)) return {};
  const pairs = text.split(',').map((pair) => pair.split('=', 2) as [keyof Settings, string]);
  if (!pairs.every(([name]) => name in standard)) return {};
  const typed = (name: keyof Settings, value: string) => {
    const kind = typeof standard[name];
    return kind === 'number' ? Number(value) : kind === 'boolean' ? value === 'true' : value;
  };
  return Object.fromEntries(pairs.map(([name, value]) => [name, typed(name, value)]));
}

/** A call's settings. Later sources override earlier ones: server, schedule, end of the model's name, `user`. */
export function settingsOf(server: ServerSettings, body: Record<string, unknown>, raw = ''): Settings {
  const model = typeof body.model === 'string' ? body.model.split('@', 2)[1] : undefined;
  const [, schedule] = (server.schedules && /\bschedule-(\d+)\b/.exec(raw)) ?? [];
  const scheduled = schedule === undefined ? {} : server.schedules?.[Number(schedule)];
  return { ...standard, ...server, ...scheduled, ...readSettings(model), ...readSettings(body.user) };
}
