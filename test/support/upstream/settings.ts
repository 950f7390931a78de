/**
 * What the test upstream does with a call. Set for the whole server through its control endpoint, or for one call
 * through its `user` or the end of its model's name, so that thousands of streams can each have their own:
 * `"user": "chunks=1200,chunkIntervalMs=50"`, `"model": "test-model@fault=stall,faultAfter=3"`.
 */

/** Words that must never reach a client of the service; every error body holds them, and the key that was sent. */
export const CANARY = 'CANARY-words-of-the-upstream';
export const MODEL = 'test-model';

/** What can go wrong, in the order in which it can. */
export const faults = [
  'none',
  /** Nobody listens: for the whole server only. */
  'refuse',
  /** The connection is reset once the request was read. */
  'reset',
  /** No answer at all. */
  'hang',
  /** The answer is an error with `status`. */
  'status',
  'redirect',
  'content-type',
  'bad-json',
  /** Status 200 and an error. */
  'error-body',
  /** One string that does not end. */
  'giant',
  /** Headers of 1 MiB. */
  'headers',
  /** A stream of comments that does not end. */
  'comments',
  /** A stream of chunks without output that does not end. */
  'empty-chunks',
  /** An object of a thousand million small members. */
  'members',
  /** The answer, or a chunk, holds bytes that are no UTF-8. */
  'invalid-utf8',
  /** The connection is reset after `cutBytes` of the answer's body. */
  'cut-bytes',
  // Only streams, after `faultAfter` chunks:
  /** Nothing more comes. */
  'stall',
  /** The answer ends as if it were whole. */
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
  /** `[DONE]`, and the answer ends a little later. */
  'late-end',
  /** `[DONE]`, and then the answer does not end. */
  'linger',
] as const;
export type Fault = (typeof faults)[number];

export type Settings = {
  /** Before the headers of the answer. */
  headersDelayMs: number;
  /** After the headers, before the first chunk, or the body. */
  firstChunkDelayMs: number;
  chunkIntervalMs: number;
  /** In place of `chunkIntervalMs`: a chunk is a token. */
  tokensPerSecond: number;
  /** The text of every honest reply; '' for what it says by itself. */
  reply: string;
  /** How many chunks of text; 0 for the words of the honest reply. */
  chunks: number;
  /** Characters of each chunk, where `chunks` is set. */
  chunkSize: number;
  /** How many choices or images it gives, whatever `n` asks for; 0 for as many as asked. */
  choices: number;
  /** Cuts every event into pieces of so many bytes, each a write of its own; 0 for whole ones. */
  splitBytes: number;
  fault: Fault;
  faultAfter: number;
  cutBytes: number;
  /** Only the first so many calls have the fault; 0 for all. */
  faultTimes: number;
  /** Of the `status` fault, and what its body says. */
  status: number;
  code: string;
  param: string;
  message: string;
  retryAfter: string;
  /** When usage is told: as asked for (with the whole answer, or `include_usage`), never, all zero, or with the last choice. */
  usage: 'asked' | 'never' | 'zero' | 'with-finish';
  /** Leaves out what a server can leave out: fingerprint, logprobs, refusal, role, id, created. */
  bare: boolean;
  /**
   * The tool calls that it makes, one a turn, where the client offers a tool of that name; then it answers with text. Null
   * for the first tool with arguments that fit.
   */
  calls: readonly { name: string; arguments: Record<string, unknown> }[] | null;
  /** Chunks bear the time at which they were sent, as `sent_at`, in milliseconds since 1970 and their fractions. */
  stamp: boolean;
};

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

/** What belongs to the server as a whole. */
export type ServerSettings = Partial<Settings> & {
  models?: unknown;
  /** Calls whose body has the words `schedule-0`, `schedule-1`, and so on, each have their own settings. */
  schedules?: Partial<Settings>[];
  /** Where set, calls with another key are answered 401. */
  apiKey?: string | null;
  /** Fields of a body that are answered 400. */
  refuses?: string[];
  /** Answers in place of the honest ones, as JSON. */
  completion?: unknown;
  images?: unknown;
  embeddings?: unknown;
  /** How vectors are encoded, whatever the call asks for. */
  encoding?: 'float' | 'base64';
  search?: unknown;
  /** The data of a stream's events, in place of the honest ones. */
  events?: string[];
};

const convention = /^\w+=[\w.-]+(,\w+=[\w.-]+)*$/;

/** Reads `chunks=5,chunkIntervalMs=10`; nothing for a text that is not of this form, or names no setting. */
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

/** A call's settings: the server's, those of its schedule, those at the end of its model's name, those of its `user`. */
export function settingsOf(server: ServerSettings, body: Record<string, unknown>, raw = ''): Settings {
  const model = typeof body.model === 'string' ? body.model.split('@', 2)[1] : undefined;
  const [, schedule] = (server.schedules && /\bschedule-(\d+)\b/.exec(raw)) ?? [];
  const scheduled = schedule === undefined ? {} : server.schedules?.[Number(schedule)];
  return { ...standard, ...server, ...scheduled, ...readSettings(model), ...readSettings(body.user) };
}
