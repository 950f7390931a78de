/**
 * One request to an upstream and its answer, as undici hands it over piece by piece: timeouts, back-pressure and
 * abort. Contract sections 7 and 8.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export type ExchangeTimeouts = {
  /** From the request being written to the first byte of the answer's body. */
  firstByteMs: number;
  /** From one byte of the body to the next, while we are willing to read. */
  idleMs: number;
};

export type AnswerHead = { status: number; headers: IncomingHttpHeaders };

/** How much of an answer is held for a reader that is slow; the socket is not read beyond it. */
const HIGH_WATER_BYTES = 16 * 1024;
/** How long the rest of an answer that nobody reads may take to end, so that its connection can be used again. */
const RELEASE_MS = 1000;

/** The upstream kept silent for too long. */
export class SilenceError extends Error {
  constructor(what: string, ms: number) {
    super(`No ${what} within ${ms} ms.`);
    this.name = 'SilenceError';
  }
}

type Waiting = { resolve: (pieces: Buffer[] | null) => void; reject: (error: unknown) => void };

/**
 * undici's handler for one request. Its own timer stands in for undici's two: the time to the first byte has to
 * cover servers that send their headers at once and then read a long prompt, and undici counts to the half second.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Whether bytes of the request may have reached the upstream: from then on it must not be sent again. */
  isSent = false;
  /** Settles once; read it before the body. */
  readonly head: Promise<AnswerHead>;

  readonly #timeouts: ExchangeTimeouts;
  readonly #signal: AbortSignal;
  readonly #onAbort = () => this.abort(this.#signal.reason);
  readonly #onSettled: () => void;
  #resolveHead!: (head: AnswerHead) => void;
  #rejectHead!: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #held = 0;
  #waiting: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;
  #heard = 0;
  #isDiscarding = false;
  #outcome: { error?: unknown } | undefined;

  /** @param onSettled - called once, when the upstream has nothing more to do for it */
  constructor(timeouts: ExchangeTimeouts, signal: AbortSignal, onSettled: () => void = () => {}) {
    this.#timeouts = timeouts;
    this.#signal = signal;
    this.#onSettled = onSettled;
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * The next pieces of the body: all that came since, or the next one to come; null at the end. One reader, one call
   * at a time. Who does not call it stops the upstream.
   */
  read(): Promise<Buffer[] | null> {
    if (this.#pieces.length === 0) this.#resume();
    if (this.#pieces.length > 0) {
      const pieces = this.#pieces;
      this.#pieces = [];
      this.#held = 0;
      return Promise.resolve(pieces);
    }
    if (this.#outcome === undefined) {
      return new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject };
      });
    }
    return 'error' in this.#outcome ? Promise.reject(this.#outcome.error) : Promise.resolve(null);
  }

  /** Ends it now: the socket is destroyed, and what was not read is dropped. */
  abort(reason: unknown): void {
    if (this.#outcome !== undefined) return;
    this.#pieces = [];
    this.#settle({ error: reason });
    this.#controller?.abort(reason as Error);
  }

  /** The reader has all that it wants: a connection whose answer is about to end is kept. */
  release(): void {
    if (this.#outcome !== undefined) return;
    this.#isDiscarding = true;
    this.#pieces = [];
    this.#startTimer(RELEASE_MS, 'end of the answer');
    this.#resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#outcome !== undefined) {
      // Aborted here, undici writes nothing.
      controller.abort(new Error('Canceled while connecting.'));
      return;
    }
    this.isSent = true;
    this.#startTimer(this.#timeouts.firstByteMs, 'first byte');
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status >= 200) this.#resolveHead({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isDiscarding) return;
    this.#heard += 1;
    if (this.#heard === 1) this.#startTimer(this.#timeouts.idleMs, 'further byte');
    else this.#timer?.refresh();
    if (this.#waiting !== undefined) {
      const { resolve } = this.#waiting;
      this.#waiting = undefined;
      resolve([piece]);
      return;
    }
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held >= HIGH_WATER_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#settle({});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle({ error });
  }

  #resume(): void {
    if (this.#outcome !== undefined || this.#controller?.paused !== true) return;
    this.#timer?.refresh();
    this.#controller.resume();
  }

  #startTimer(ms: number, what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const heard = this.#heard;
      // Timers come before sockets: when it was this process that was late, the bytes may be waiting to be read.
      setImmediate(() => {
        if (heard === this.#heard) this.#expire(new SilenceError(what, ms));
      });
    }, ms);
  }

  #expire(error: SilenceError): void {
    // The reader is the slow one; its next call starts the clock again.
    if (this.#outcome !== undefined || this.#controller?.paused === true) return;
    this.#settle({ error });
    this.#controller?.abort(error);
  }

  #settle(outcome: { error?: unknown }): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#onSettled();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if ('error' in outcome) {
      this.#rejectHead(outcome.error);
      waiting?.reject(outcome.error);
    } else {
      waiting?.resolve(null);
    }
  }
}
