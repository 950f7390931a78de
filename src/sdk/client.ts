import createClient, { type Client } from 'openapi-fetch';
import { connectionFailed, errorOf, ParleyError } from './errors.ts';
import type { IdempotentCallOptions, Input } from './method.ts';
import { type Operations, operations } from './operations.ts';
import { withRetries } from './retry.ts';
import type { paths } from './schema.d.ts';
import { type ChatCompletionChunk, type ChatEvent, chatEvents, completionChunks } from './stream.ts';

export type ParleyOptions = {
  /** The URL of the service, such as `https://chat.example.com`, without `/api/v1`. */
  baseUrl: string;
  /** Without a key, pages on the service's origin send their session cookie. */
  apiKey?: string | undefined;
  /** Headers to send with every request, such as `cookie`. */
  headers?: Record<string, string> | undefined;
  /** Maximum retries of requests that are safe to retry, such as reads and idempotent requests. Default: 2. */
  maxRetries?: number | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
};

export interface Parley extends Operations {
  /**
   * Sends a message and yields the events of the reply as they arrive. Leaving the loop, or aborting, stops the reply.
   *
   * @throws ParleyError also within the loop, if the reply is interrupted
   */
  streamChat(
    input: Omit<Input<'chat'>, 'stream'>,
    options?: IdempotentCallOptions,
  ): AsyncGenerator<ChatEvent, void, undefined>;
  /** Like `streamChat`, for `createChatCompletion` with OpenAI's chunks. */
  streamChatCompletion(
    input: Input<'createChatCompletion'>,
    options?: IdempotentCallOptions,
  ): AsyncGenerator<ChatCompletionChunk, void, undefined>;
  /** The typed fetch client (openapi-fetch) behind the methods. Use it to read response headers. */
  readonly http: Client<paths, 'application/json'>;
}

type Operation = (typeof operations)[keyof typeof operations];
type Answer<T> = { data?: T; error?: unknown; response: Response };
type Send = (method: string, path: string, init: object) => Promise<Answer<unknown>>;

/**
 * Creates a client for one service.
 *
 * @throws TypeError if `baseUrl` is not an http(s) URL, or contains `/api/v1`
 */
export function createParley({ apiKey, baseUrl, headers, maxRetries = 2, ...rest }: ParleyOptions): Parley {
  const { pathname, protocol } = new URL(baseUrl);
  if (!/^https?:$/.test(protocol) || /\/api\/v1\/?$/.test(pathname))
    throw new TypeError(
      `baseUrl must be the address of the service, such as https://chat.example.com: ${baseUrl}`,
    );
  // Look up `fetch` on every call, because it can be replaced later.
  const { fetch = (request: Request) => globalThis.fetch(request) } = rest;
  const http = createClient<paths, 'application/json'>({
    baseUrl,
    headers: { ...headers, ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }) },
    fetch: withRetries(fetch, maxRetries),
  });
  const send = http.request as unknown as Send;
  const call = (operation: Operation, input: object, options: IdempotentCallOptions, parseAs = 'json') =>
    send(operation.method, operation.path, { ...requestOf(operation, input, options), parseAs });
  const methods = Object.entries(operations).map(([id, operation]) => [
    id,
    (input: object = {}, options: IdempotentCallOptions = {}) =>
      dataOf(call(operation, input, options), options.signal),
  ]);
  const streamed = <Event>(
    operation: Operation,
    events: (response: Response) => AsyncGenerator<Event, void, undefined>,
  ) =>
    async function* (input: object, options: IdempotentCallOptions = {}) {
      const { signal } = options;
      try {
        const answer = await call(operation, { ...input, stream: true }, options, 'stream');
        if (!answer.response.ok) throw errorOf(answer.response, answer.error);
        yield* events(answer.response);
      } catch (error) {
        throw explained(error, signal);
      }
    };
  return {
    ...(Object.fromEntries(methods) as Operations),
    streamChat: streamed(operations.chat, chatEvents),
    streamChatCompletion: streamed(operations.createChatCompletion, completionChunks),
    http,
  };
}

function requestOf(
  operation: Operation,
  input: object,
  { headers, idempotencyKey, signal }: IdempotentCallOptions,
) {
  const named = new Set([...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  const entries = Object.entries(input);
  const path = Object.fromEntries(entries.filter(([name]) => named.has(name)));
  const others = Object.fromEntries(entries.filter(([name]) => !named.has(name)));
  return {
    params: { path, ...(!operation.hasBody && { query: others }) },
    ...(operation.hasBody && { body: others }),
    headers: { ...headers, ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }) },
    ...(signal && { signal }),
  };
}

/**
 * Returns the data of a response from `http`.
 *
 * @throws ParleyError for every other outcome, except an abort, which rejects with the signal's reason
 */
export async function dataOf<T>(call: Promise<Answer<T>>, signal?: AbortSignal | undefined): Promise<T> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    throw explained(cause, signal);
  });
  if (!response.ok) throw errorOf(response, error);
  return data as T;
}

function explained(error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof ParleyError || signal?.aborted) return error;
  if (error instanceof Error && error.name === 'AbortError') return error;
  if (error instanceof SyntaxError)
    return new ParleyError({ code: 'unreadableAnswer', message: 'The response is not JSON.', cause: error });
  return connectionFailed(error);
}

/**
 * Creates an `Idempotency-Key`. Use one key per logical request, and the same key for all its retries.
 *
 * @returns 32 random hexadecimal digits; also works over plain HTTP, where browsers have no `randomUUID`
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
