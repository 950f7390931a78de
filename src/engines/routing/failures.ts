/** Classifies a failed attempt: its effect on the request and on the target. Contract section 15. */
import { ApiError } from '../../errors.ts';
import { UpstreamProblem } from '../upstream/errors.ts';

const problemOf = (error: unknown): UpstreamProblem | undefined =>
  error instanceof ApiError && error.options.cause instanceof UpstreamProblem
    ? error.options.cause
    : undefined;

/** Whether Parley's limit on concurrent requests caused the error. It says nothing about the target. */
const isOurLimit = (error: ApiError) => error.code === 'overloaded' && problemOf(error)?.status === undefined;

/** Whether the reply was too large. A client can cause that, and no target can deliver such a reply. */
const isTooLarge = ({ code, options }: ApiError) => code === 'upstreamError' && options.isProvokable === true;

export type Failure = {
  /** Whether another target may succeed. */
  isWorthAnother: boolean;
  /** Whether the failure counts against the target's health. */
  isOfTarget: boolean;
  pauseMs: number | undefined;
};

/** Classifies the error of an attempt. Errors other than ApiError are internal: no retry, no fault of the target. */
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
