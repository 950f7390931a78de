/**
 * Requests to one upstream: a pool of kept connections, timeouts, bounded answers, and every failure as an error of
 * the contract's section 6. Redirects are not followed, and nothing is sent twice. Contract section 8.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { writeJson } from '../../bodies/sealed.ts';
import { Bodies } from './bodies.ts';
import { Connections } from './connections.ts';
import { brokenAnswer, connectionError, refusalError } from './errors.ts';
import { type AnswerHead, Exchange } from './exchange.ts';
import { isObject, type JsonObject, parseJson, TOO_MANY_VALUES } from './json.ts';
import { textOf } from './quoting.ts';

export type UpstreamOptions = {
  /** Where the API is, e.g. `https://api.openai.com/v1`; a query string is sent along with every request. */
  url: string;
  /** Sent as a Bearer token. */
  apiKey?: string | undefined;
  connectTimeoutMs?: number;
  /** Until the first byte of the answer's body: reading a long prompt takes its time. */
  firstByteTimeoutMs?: number;
  /** Between one byte of the answer and the next. */
  idleTimeoutMs?: number;
  /** Largest answer that is not a stream; by default what each request says. */
  maxAnswerBytes?: number;
  /** Requests to the upstream at the same time; as many again wait for a connection. */
  connections?: number;
};

export type Request = {
  method: 'GET' | 'POST';
  path: string;
  body?: JsonObject;
  signal: AbortSignal;
  /** Largest answer that is not a stream. */
  maxBytes?: number;
  /** Goes out even if every connection is taken; for requests that are never made twice at once. */
  isUncounted?: boolean;
};

/** Makes the error for an answer that is none; `text` is what it was, which the log only describes. */
export type Broken = (why: string, text?: string) => Error;

export type Transport = {
  /**
   * Asks for JSON.
   *
   * @throws ApiError for whatever goes wrong there; the signal's reason once it is aborted
   */
  json(request: Request): Promise<JsonObject>;
  /** Asks for a stream of server-sent events, which the caller reads, and ends with `abort` or `release`. */
  events(request: Request): Promise<Exchange>;
  /** What reading an exchange threw, as an error of the contract. */
  failure(error: unknown, signal: AbortSignal): unknown;
  /** An answer that came whole, but is not what it should be. */
  broken: Broken;
};

export const MIB = 1024 * 1024;
/** Largest whole answer where a request does not say otherwise: a chat of the most characters, escaped. */
const ANSWER_BYTES = 16 * MIB;
const CONNECTIONS = 1000;
/** How much of a refusal is read to find out what it is about. */
const REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 5000;
/** An upstream that is being restarted refuses for a moment. */
const RETRY_PAUSE_MS = 100;

/** Lost before there was a connection: nothing was sent, so that sending it again is the first time. */
const connectionLosses: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
]);

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
const isType = ({ headers }: AnswerHead, type: RegExp): boolean => type.test(headers['content-type'] ?? '');

/** What a refusal says; its status alone decides where its body is too large, too slow or cut off. */
async function refusalText(exchange: Exchange, bodies: Bodies): Promise<string> {
  const timer = setTimeout(() => exchange.abort(new Error('The error response is too slow.')), REFUSAL_MS);
  const text = await bodies.textWithin(exchange, REFUSAL_BYTES).catch(() => undefined);
  clearTimeout(timer);
  return text ?? '';
}

/**
 * Opens no connection yet. Connections are kept for a few seconds and do not keep the process alive.
 *
 * @param options - timeouts default to 5 s for connecting, 120 s to the first byte, 60 s between bytes
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
  const base = new URL(options.url);
  const root = base.pathname.replace(/\/+$/, '');
  // undici's own timers are off: an exchange has its own. A stale connection that closed before a request was
  // written to it is replaced by undici, which lets the event loop turn once to see that before it writes.
  const connections = new Connections(most);
  const bodies = new Bodies();
  const pool = new Pool(base.origin, {
    // One for what is not counted.
    connections: most + 1,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs },
  });

  function failure(error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : connectionError(error, apiKey);
  }

  /** Sends it; once more where the first try found no connection. */
  async function dispatch(
    { body, isUncounted, method, path, signal }: Request,
    accept: string,
  ): Promise<[AnswerHead, Exchange]> {
    const [pathname, query] = path.split('?', 2);
    const search = [base.search.slice(1), query].filter(Boolean).join('&');
    const payload = body === undefined ? undefined : writeJson(body);
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const release = isUncounted ? undefined : await connections.take(signal, firstByteTimeoutMs);
      // Waiting for a connection is part of waiting for the first byte.
      const firstByteMs = Math.max(firstByteTimeoutMs - (performance.now() - startedAt), 1);
      const exchange = new Exchange({ firstByteMs, idleMs: idleTimeoutMs }, signal, release);
      pool.dispatch(
        {
          origin: base.origin,
          path: `${root}${pathname}${search && `?${search}`}`,
          method,
          headers: {
            accept,
            'user-agent': 'parley',
            ...(payload !== undefined && { 'content-type': 'application/json' }),
            ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          },
          ...(payload !== undefined && { body: payload }),
        },
        exchange,
      );
      try {
        return [await exchange.head, exchange];
      } catch (error) {
        const isFirstTime =
          attempt === 1 && !exchange.isSent && !signal.aborted && connectionLosses.has(codeOf(error));
        if (!isFirstTime) throw failure(error, signal);
      }
      await pause(RETRY_PAUSE_MS, undefined, { signal }).catch((error) =>
        Promise.reject(failure(error, signal)),
      );
    }
  }

  /** Sends it, and accepts only an answer of 200 or its like. */
  async function ask(request: Request, accept: string): Promise<[AnswerHead, Exchange]> {
    const [head, exchange] = await dispatch(request, accept);
    const { headers, status } = head;
    if (status >= 200 && status < 300) return [head, exchange];
    const text = await refusalText(exchange, bodies);
    request.signal.throwIfAborted();
    const { body = {}, path } = request;
    const asked = textOf([...new URLSearchParams(path.split('?')[1]).values(), body]);
    throw refusalError({ status, headers, text, sent: Object.keys(body), asked }, apiKey);
  }

  const broken: Broken = brokenAnswer;

  /** Gives an answer up that is of another type than was asked for. */
  function refuseType({ headers }: AnswerHead, exchange: Exchange, wanted: string): never {
    exchange.abort(new Error('The answer has the wrong content type.'));
    const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
    const got = /^[\w.+/-]{1,100}$/.test(type) ? type : 'without a content type';
    throw broken(`Expected ${wanted} from the upstream, got ${got}.`);
  }

  return {
    failure,
    broken,
    async json(request) {
      const [head, exchange] = await ask(request, 'application/json');
      if (!isType(head, /^application\/([\w.-]+\+)?json\b/i)) refuseType(head, exchange, 'JSON');
      const most = maxAnswerBytes ?? request.maxBytes ?? ANSWER_BYTES;
      const text = await bodies
        .textWithin(exchange, most)
        .catch((error) => Promise.reject(failure(error, request.signal)));
      if (text === undefined)
        throw brokenAnswer(`The upstream's answer is larger than ${most} bytes.`, undefined, true);
      const answer = parseJson(text);
      if (answer === TOO_MANY_VALUES)
        throw brokenAnswer("The upstream's answer has too many values to parse.", undefined, true);
      // Some servers list their models without an object around them.
      if (Array.isArray(answer)) return { data: answer };
      if (!isObject(answer)) throw broken("The upstream's answer is not a JSON object:", text);
      if (answer.error)
        throw broken(`The upstream answered ${head.status} with an error:`, JSON.stringify(answer.error));
      return answer;
    },
    async events(request) {
      const [head, exchange] = await ask(request, 'text/event-stream');
      if (!isType(head, /^text\/event-stream\b/i)) refuseType(head, exchange, 'server-sent events');
      return exchange;
    },
  };
}
