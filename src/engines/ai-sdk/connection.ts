/**
 * The `fetch` of a provider package. Its requests use Parley's transport, with its timeouts, limits, and errors. They
 * can reach only the upstream. Contract sections 8 and 15.
 */
import type { CompletionInput } from '../types.ts';
import type { Exchange } from '../upstream/exchange.ts';
import type { JsonObject } from '../upstream/json.ts';
import type { Transport, Request as UpstreamRequest } from '../upstream/transport.ts';

/** Most bytes that a stream may send without output. */
const MAX_SILENT_BYTES = 32 * 1024 * 1024;
const STREAM_TYPES =
  /^(text\/event-stream|application\/vnd\.amazon\.eventstream|application\/stream\+json)\b/i;

/** One call to a model, which sends one request. */
export class ProviderCall {
  readonly input: CompletionInput;
  readonly isStream: boolean;
  /** The original error of a failed request, because packages wrap errors. */
  failure: { error: unknown } | undefined;
  exchange: Exchange | undefined;
  /** Bytes since the last output. */
  silent = 0;

  constructor(input: CompletionInput, isStream: boolean) {
    this.input = input;
    this.isStream = isStream;
  }

  fail(error: unknown): unknown {
    this.failure ??= { error };
    return error;
  }
}

/** Reads only as much as the package requests. */
function bytesOf(exchange: Exchange, call: ProviderCall, { broken }: Transport): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const pieces = await exchange.read();
          if (pieces === null) return controller.close();
          for (const piece of pieces) {
            call.silent += piece.length;
            controller.enqueue(piece);
          }
          if (call.silent > MAX_SILENT_BYTES)
            throw broken(`The stream sent ${call.silent} bytes without output.`);
        } catch (error) {
          exchange.abort(error);
          controller.error(call.fail(error));
        }
      },
      cancel: (reason) => exchange.abort(reason),
    },
    { highWaterMark: 0 },
  );
}

export class Connection {
  readonly baseURL: string;
  readonly #transport: Transport;
  /** Calls by the signal that packages pass to `fetch`. */
  readonly #calls = new WeakMap<AbortSignal, ProviderCall>();

  constructor(url: string, transport: Transport) {
    const { origin, pathname } = new URL(url);
    this.baseURL = `${origin}${pathname.replace(/\/+$/, '')}`;
    this.#transport = transport;
  }

  /** Assigns requests with this signal to the call. */
  begin(signal: AbortSignal, call: ProviderCall): void {
    this.#calls.set(signal, call);
  }

  fetch = async (target: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> => {
    const { signal } = init;
    const call = signal ? this.#calls.get(signal) : undefined;
    if (!signal || call === undefined) throw new Error('A request of a provider belongs to no call.');
    try {
      const request = this.#requestOf(String(target), init, signal, call);
      if (!call.isStream) {
        const text = await this.#transport.text(request);
        return new Response(text, { headers: { 'content-type': 'application/json' } });
      }
      const [{ headers }, exchange] = await this.#transport.open(request, STREAM_TYPES, 'a stream');
      call.exchange = exchange;
      return new Response(bytesOf(exchange, call, this.#transport), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      });
    } catch (error) {
      throw call.fail(error);
    }
  };

  #requestOf(target: string, init: RequestInit, signal: AbortSignal, call: ProviderCall): UpstreamRequest {
    if (!target.startsWith(`${this.baseURL}/`) || typeof init.body !== 'string')
      throw this.#transport.broken('The package tried to send a request to another server.');
    return {
      method: 'POST',
      path: target.slice(this.baseURL.length),
      headers: Object.fromEntries(new Headers(init.headers)),
      body: call.input as JsonObject,
      written: init.body,
      signal,
    };
  }
}
