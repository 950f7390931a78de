/** Work that shutdown waits for. Contract sections 7 and 11. */
import type { FastifyReply } from 'fastify';
import type { Stop } from '../domain/stop.ts';
import { trackProgress } from '../engines/progress.ts';
import { traceOf, traceWork } from '../telemetry/tracing.ts';

export type Work = {
  /** Aborted if no client needs the work any more, a client stops it, or the process must exit. */
  readonly signal: AbortSignal;
  isClientGone: boolean;
  /** Whether the work was aborted because the client disconnected. */
  isAbandoned: boolean;
  /** Stops the engine. Its output so far becomes the reply. */
  stop(reason: Stop): void;
  /** Call once, when all work is done. */
  end(): void;
};

export class InFlightRequests {
  readonly #open = new Set<AbortController>();
  readonly #waiting: (() => void)[] = [];
  #reason: unknown;

  /**
   * Begins work for a request. Fastify's `request.signal` is unsuitable, because it also aborts once the body has been
   * read. With `outlivesClient`, the work continues after the client disconnects, so that a retry gets its result.
   */
  begin(reply: FastifyReply, outlivesClient = false): Work {
    const { raw } = reply;
    const controller = new AbortController();
    const onClose = () => {
      if (raw.writableFinished) return;
      work.isClientGone = true;
      if (outlivesClient) return;
      work.isAbandoned = true;
      controller.abort(new Error('The client disconnected.'));
    };
    const work: Work = {
      signal: controller.signal,
      isClientGone: false,
      isAbandoned: false,
      stop: (reason) => controller.abort(reason),
      end: () => {
        this.#open.delete(controller);
        if (this.#open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
      },
    };
    const { headers, id, span } = reply.request;
    traceWork(controller.signal, span?.trace ?? traceOf(headers, id));
    trackProgress(controller.signal);
    this.#open.add(controller);
    raw.once('close', onClose);
    if (raw.destroyed) onClose();
    if (this.#reason !== undefined) controller.abort(this.#reason);
    return work;
  }

  /** Aborts all current and future work. */
  abortAll(reason: unknown): void {
    this.#reason = reason;
    for (const controller of this.#open) controller.abort(reason);
  }

  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
