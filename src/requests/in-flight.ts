/**
 * What requests wait for: given up as soon as the client leaves, or when the process has to end. Stopping waits for
 * it. Contract sections 7 and 11.
 */
import type { FastifyReply } from 'fastify';

/** One piece of work. */
export type Work = {
  /** Aborted when nobody waits for the work any more, or the process has to end. */
  readonly signal: AbortSignal;
  /** Whether the client left. */
  isClientGone: boolean;
  /** Whether the work was given up for that reason. */
  isAbandoned: boolean;
  /** To be called once, when nothing is left to do for it. */
  end(): void;
};

export class InFlightRequests {
  readonly #open = new Set<AbortController>();
  readonly #waiting: (() => void)[] = [];
  #reason: unknown;

  /**
   * Begins work for a request.
   *
   * Fastify's `request.signal` will not do: it follows the request stream, which also closes once a body has been
   * read.
   *
   * @param outlivesClient - whether somebody will ask for what comes of it again, so that it goes on without the client
   */
  begin(reply: FastifyReply, outlivesClient = false): Work {
    const { log } = reply.request;
    const { raw } = reply;
    const controller = new AbortController();
    const onClose = () => {
      if (raw.writableFinished) return;
      work.isClientGone = true;
      // Fastify's own line comes with the end of an answer, and this one has none.
      log.info({ res: reply, responseTime: reply.elapsedTime }, 'client left');
      if (outlivesClient) return;
      work.isAbandoned = true;
      controller.abort(new Error('The client disconnected.'));
    };
    const work: Work = {
      signal: controller.signal,
      isClientGone: false,
      isAbandoned: false,
      end: () => {
        this.#open.delete(controller);
        if (this.#open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
      },
    };
    this.#open.add(controller);
    raw.once('close', onClose);
    if (raw.destroyed) onClose();
    if (this.#reason !== undefined) controller.abort(this.#reason);
    return work;
  }

  /** Gives up whatever is under way, and whatever begins after this. */
  giveUp(reason: unknown): void {
    this.#reason = reason;
    for (const controller of this.#open) controller.abort(reason);
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
