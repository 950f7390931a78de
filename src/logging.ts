/** What the log says of an error: enough to find the cause, never a statement's parameters. */
import { sqlState } from './store/client.ts';

type LoggedError = {
  type: string;
  message: string;
  stack?: string;
  sqlState?: string;
  statement?: string;
  cause?: LoggedError;
};

/** Data exceptions and integrity violations repeat values in their messages. */
const repeatsValues = (state: string) => state.startsWith('22') || state.startsWith('23');

/**
 * pino's serializer for `err`. Drizzle's errors repeat every parameter of the statement, prompts and digests
 * included, in message and stack; what is left of them is the statement's text and the database's code.
 */
export function serialiseError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { cause, message, name, stack } = error;
  if ('query' in error && 'params' in error) {
    const state = sqlState(error);
    const said =
      cause instanceof Error && !(state !== undefined && repeatsValues(state))
        ? cause.message
        : 'The statement failed.';
    return {
      type: name,
      message: said,
      ...(state !== undefined && { sqlState: state }),
      statement: String(error.query).replace(/\s+/g, ' ').slice(0, 500),
    };
  }
  return {
    type: name,
    message,
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause: serialiseError(cause) }),
  };
}
