/** Logs requests and errors with enough detail to find a cause, but never a statement's parameters. */
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { sqlState } from '../database/client.ts';

type LoggedError = {
  type: string;
  message: string;
  stack?: string;
  sqlState?: string;
  statement?: string;
  cause?: LoggedError;
};

/** Messages of data exceptions and integrity violations quote values. */
const repeatsValues = (state: string) => /^2[23][0-9A-Z]{3}$/.test(state);

/** Logs only statement and SQLSTATE, because Drizzle's errors repeat every parameter, such as prompts and digests. */
export function serializeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { cause, message, name, stack } = error;
  const state = sqlState(error);
  const isSilent = state !== undefined && repeatsValues(state);
  if ('query' in error && 'params' in error) {
    return {
      type: name,
      message: cause instanceof Error && !isSilent ? cause.message : 'The statement failed.',
      ...(state !== undefined && { sqlState: state }),
      statement: String(error.query).replace(/\s+/g, ' ').slice(0, 500),
    };
  }
  // Drizzle does not wrap errors of the ledger's connections.
  if (isSilent) return { type: name, message: 'The statement failed.', sqlState: state };
  return {
    type: name,
    message,
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause: serializeError(cause) }),
  };
}

/**
 * One line per completed request; `plugins/aborted-requests` logs the others. At level `debug`, also one at its start.
 */
export class OneLinePerRequest extends LogController {
  override incomingRequest(request: FastifyRequest): void {
    request.log.debug({ req: request }, 'incoming request');
  }

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const line = {
      req: request,
      res: reply,
      responseTime: reply.elapsedTime,
      ...(request.routed && { routed: request.routed }),
    };
    if (error) reply.log.error({ ...line, err: error }, 'request errored');
    else reply.log.info(line, 'request completed');
  }
}
