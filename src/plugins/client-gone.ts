/** Tells work in progress that nobody waits for it any more. Contract section 5. */
import type { FastifyReply } from 'fastify';

/**
 * A signal that is aborted when the connection closes before the response has been sent.
 *
 * Fastify's `request.signal` will not do: it follows the request stream, which also closes once a body has been read.
 */
export function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { raw } = reply;
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  if (raw.destroyed) controller.abort();
  return controller.signal;
}
