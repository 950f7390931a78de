/** What a failed attempt means for the request and for the target. Contract section 15. */
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from '../upstream/errors.ts';

const problemOf = (error: unknown): UpstreamProblem | undefined =>
  error instanceof ApiError && error.options.cause instanceof UpstreamProblem
    ? error.options.cause
    : undefined;

/** Our own limit on concurrent requests, which tells nothing about the target. */
const isOurLimit = (error: ApiError) => error.code === 'overloaded' && problemOf(error)?.status === undefined;

/** Clients can ask for an answer that is too large; no target can give it. */
const isTooLarge = ({ code, options }: ApiError) => code === 'upstreamError' && options.isProvokable === true;

export type Failure = {
  /** Whether another target may succeed. */
  isWorthAnother: boolean;
  /** Whether it counts against the target. */
  isOfTarget: boolean;
  pauseMs: number | undefined;
};

export function failureOf(error: unknown): Failure {
  const nothing = { isWorthAnother: false, isOfTarget: false, pauseMs: undefined };
  // `invalidRequest` is the client's mistake.
  if (!(error instanceof ApiError) || error.code === 'invalidRequest' || isTooLarge(error)) return nothing;
  const seconds = problemOf(error)?.retryAfterSeconds;
  return {
    isWorthAnother: true,
    isOfTarget: !isOurLimit(error),
    pauseMs: seconds === undefined ? undefined : seconds * 1000,
  };
}
