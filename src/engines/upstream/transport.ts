/**
 * Sends requests to one upstream, with pooled connections, timeouts, and size limits. Follows no redirects and never
 * sends a request twice. Contract sections 6 and 8.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { writeJson } from '../../bodies/sealed.ts';
import { traceHeaders } from '../../telemetry/tracing.ts';
import { queued } from '../progress.ts';
import { Bodies } from './bodies.ts';
import { Connections, type SharedConnections } from './connections.ts';
import { brokenAnswer, connectionError, refusalError } from './errors.ts';
import { type AnswerHead, Exchange } from './exchange.ts';
import { isObject, type JsonObject, parseJson, TOO_MANY_VALUES } from './json.ts';
import { textOf } from './quoting.ts';

export type UpstreamOptions = {
  /** The base URL of the API, such as `https://api.openai.com/v1`. Every request includes its query string. */
  url: string;
  apiKey?: string | undefined;
  /** Added to every request. */
  headers?: Readonly<Record<string, string>>;
  /** Creates the headers that contain the key. Defaults to a bearer token. */
  keyHeaders?(apiKey: string | undefined): Readonly<Record<string, string>>;
  connectTimeoutMs?: number;
  /** Timeout to the first byte of the body, which includes reading a long prompt. */
  firstByteTimeoutMs?: number;
  /** Timeout between bytes of the response. */
  idleTimeoutMs?: number;
  /** Maximum size of a non-streamed response. Defaults to each request's limit. */
  maxAnswerBytes?: number;
  /** Maximum concurrent requests. The same number may wait for a connection. */
  connections?: number;
  /** If set, the limit also counts requests of other processes. */
  sharedConnections?: SharedConnections | undefined;
  /** The transport that engines of the same server share. Defaults to a new one. */
  transport?: Transport;
  /** Called when the headers of a response arrive, or the request fails without them. */
  onResponse?(status: number | undefined, seconds: number): void;
};

export type Request = {
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>> | undefined;
  body?: JsonObject;
  /** The serialized body to send instead of `body`. */
  written?: string;
  /** The client's names of the fields, if they differ from those of `body`. */
  sent?: readonly string[];
  signal: AbortSignal;
  maxBytes?: number;
  /** Replaces `parseJson`, which blocks the event loop for long responses. */
  parse?(text: string): Promise<unknown>;
  /** Bypasses the connection limit. Only for requests that are never concurrent. */
  isUncounted?: boolean;
};

/** Creates the error for an invalid response. The log only describes `text`. */
export type BrokenError = (why: string, text?: string) => Error;

export type Transport = {
  /** Requests JSON. Throws ApiError for any failure, or the signal's reason. */
  json(request: Request): Promise<JsonObject>;
  /** Requests JSON, but returns its text. */
  text(request: Request): Promise<string>;
  /** Requests a stream with one of the content types. The caller reads it, then calls `abort` or `release`. */
  open(request: Request, types: RegExp, what: string): Promise<[AnswerHead, Exchange]>;
  /** Requests a stream of server-sent events. The caller reads it, then calls `abort` or `release`. */
  events(request: Request): Promise<Exchange>;
  /** Maps an error from reading an exchange to an error of the contract. */
  failure(error: unknown, signal: AbortSignal): unknown;
  broken: BrokenError;
};

export const MIB = 1024 * 1024;
/** Default limit, which fits a chat completion of maximum length with escapes. */
const ANSWER_BYTES = 16 * MIB;
const CONNECTIONS = 1000;
/** A restarting upstream refuses connections for a moment. */
const RETRY_PAUSE_MS = 100;

/** Error codes of connections that failed before anything was sent. A retry is safe. */
const connectionLosses: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
]);

export const bearer = (apiKey: string | undefined): Readonly<Record<string, string>> =>
  apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

const totalLength = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0);
const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
const isType = ({ headers }: AnswerHead, type: RegExp): boolean => type.test(headers['content-type'] ?? '');

/**
 * Creates a transport without connecting. Idle connections last a few seconds and do not keep the process alive.
 * Timeouts default to 5 s for connecting, 120 s to the first byte, and 60 s between bytes.
 */
export function createTransport(options: UpstreamOptions): Transport {
  const {
    connectTimeoutMs = 5000,
    firstByteTimeoutMs = 120_000,
    idleTimeoutMs = 60_000,
    maxAnswerBytes,
    connections: most = CONNECTIONS,
  } = options;
  const apiKey = options.apiKey || undefined;
  const keyHeaders = (options.keyHeaders ?? bearer)(apiKey);
  const base = new URL(options.url);
  const root = base.pathname.replace(/\/+$/, '');
  // undici's timers are off because each exchange has its own timer. Before it sends a request, undici waits one turn
  // of the event loop to detect and replace a stale connection.
  const connections = new Connections(most, options.sharedConnections);
  const bodies = new Bodies();
  const pool = new Pool(base.origin, {
    // The extra connection is for uncounted requests.
    connections: most + 1,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs },
  });

  function failure(error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : connectionError(error, apiKey);
  }

  /** Sends a request. Retries once if no connection was established. */
  async function dispatch(
    { body, headers, isUncounted, method, path, signal, written }: Request,
    accept: string,
  ): Promise<[AnswerHead, Exchange]> {
    const [pathname, query] = path.split('?', 2);
    const search = [base.search.slice(1), query].filter(Boolean).join('&');
    const payload = written ?? (body === undefined ? undefined : writeJson(body));
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const release = isUncounted
        ? undefined
        : await queued(signal, () => connections.take(signal, firstByteTimeoutMs));
      const startedAt = performance.now();
      const timeouts = { firstByteMs: firstByteTimeoutMs, idleMs: idleTimeoutMs };
      const exchange = new Exchange(timeouts, signal, release);
      pool.dispatch(
        {
          origin: base.origin,
          path: `${root}${pathname}${search && `?${search}`}`,
          method,
          headers: {
            ...headers,
            ...options.headers,
            accept,
            'user-agent': 'parley',
            ...traceHeaders(signal),
            ...(payload !== undefined && { 'content-type': 'application/json' }),
            ...(Array.isArray(payload) && { 'content-length': String(totalLength(payload)) }),
            ...keyHeaders,
          },
          // undici takes any iterable, but its types do not say so.
          ...(payload !== undefined && { body: payload as string }),
        },
        exchange,
      );
      try {
        const head = await exchange.head;
        options.onResponse?.(head.status, (performance.now() - startedAt) / 1000);
        return [head, exchange];
      } catch (error) {
        options.onResponse?.(undefined, (performance.now() - startedAt) / 1000);
        const isFirstTime =
          attempt === 1 && !exchange.isSent && !signal.aborted && connectionLosses.has(codeOf(error));
        if (!isFirstTime) throw failure(error, signal);
      }
      await pause(RETRY_PAUSE_MS, undefined, { signal }).catch((error) =>
        Promise.reject(failure(error, signal)),
      );
    }
  }

  async function ask(request: Request, accept: string): Promise<[AnswerHead, Exchange]> {
    const [head, exchange] = await dispatch(request, accept);
    const { headers, status } = head;
    if (status >= 200 && status < 300) return [head, exchange];
    const text = await bodies.refusal(exchange, headers['content-length']);
    request.signal.throwIfAborted();
    const { body = {}, path, sent = Object.keys(body) } = request;
    const prompt = textOf([...new URLSearchParams(path.split('?')[1]).values(), body]);
    throw refusalError({ status, headers, text, sent, prompt }, apiKey);
  }

  const broken: BrokenError = brokenAnswer;

  function refuseType({ headers }: AnswerHead, exchange: Exchange, wanted: string): never {
    exchange.abort(new Error('The response has the wrong content type.'));
    const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
    const got = /^[\w.+/-]{1,100}$/.test(type) ? type : 'without a content type';
    throw broken(`Expected ${wanted} from the upstream, got ${got}.`);
  }

  async function whole(request: Request): Promise<{ text: string; status: number }> {
    const [head, exchange] = await ask(request, 'application/json');
    if (!isType(head, /^application\/([\w.-]+\+)?json\b/i)) refuseType(head, exchange, 'JSON');
    const most = maxAnswerBytes ?? request.maxBytes ?? ANSWER_BYTES;
    const text = await bodies
      .textWithin(exchange, most, head.headers['content-length'])
      .catch((error) => Promise.reject(failure(error, request.signal)));
    if (text === undefined)
      throw brokenAnswer(`The upstream's response is larger than ${most} bytes.`, undefined, true);
    return { text, status: head.status };
  }

  async function open(request: Request, types: RegExp, what: string): Promise<[AnswerHead, Exchange]> {
    const [head, exchange] = await ask(request, 'text/event-stream');
    if (!isType(head, types)) refuseType(head, exchange, what);
    return [head, exchange];
  }

  return {
    failure,
    broken,
    open,
    text: async (request) => (await whole(request)).text,
    async json(request) {
      const { status, text } = await whole(request);
      const answer = await (request.parse ?? parseJson)(text);
      if (answer === TOO_MANY_VALUES)
        throw brokenAnswer("The upstream's response has too many values to parse.", undefined, true);
      // Some servers send the model list as a bare array.
      if (Array.isArray(answer)) return { data: answer };
      if (!isObject(answer)) throw broken("The upstream's response is not a JSON object:", text);
      if (answer.error)
        throw broken(`The upstream returned ${status} with an error:`, JSON.stringify(answer.error));
      return answer;
    },
    async events(request) {
      const [, exchange] = await open(request, /^text\/event-stream\b/i, 'server-sent events');
      return exchange;
    },
  };
}
