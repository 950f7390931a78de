/** Errors for requests that remain charged, which the error table's messages deny. Contract sections 5, 7, and 10. */

import type { ErrorCode, HeaderFacts } from '../../schemas/errors.ts';
import { AnswerLimitError } from '../engines/answer-limits.ts';
import { ApiError } from '../errors.ts';

type Sentences = Partial<Record<ErrorCode, string>>;

const whileAnswering: Sentences = {
  upstreamTimeout: 'The server behind this endpoint stopped responding.',
  serviceUnavailable: 'The service became unavailable.',
  internalError: 'Something went wrong on our side.',
};

const beforeAnswering: Sentences = {
  upstreamError: 'The server behind this endpoint failed or could not be reached.',
  upstreamTimeout: 'The server behind this endpoint did not respond in time.',
  serviceUnavailable: 'The service is temporarily unavailable.',
  overloaded: 'The service is overloaded.',
  internalError: 'Something went wrong on our side.',
};

/** The exceeded limit of the response, as a sentence. */
const limitIn = (problem: ApiError): string | undefined =>
  problem instanceof AnswerLimitError ? problem.limit : undefined;

function charged({ code, options }: ApiError, message: string, facts: HeaderFacts = {}): ApiError {
  const { cause, param, reason } = options;
  return new ApiError(code, {
    message,
    charged: true,
    ...facts,
    ...(param !== undefined && { param }),
    ...(reason !== undefined && { reason }),
    cause,
  });
}

/** The error for a response that was interrupted. */
export function interruptedError(problem: ApiError): ApiError {
  const invalid = problem.code === 'invalidRequest' ? problem.message : undefined;
  const what =
    limitIn(problem) ??
    invalid ??
    whileAnswering[problem.code] ??
    'The server behind this endpoint ended the response early.';
  // Our side can fail after the last output.
  const state = isOurFailure(problem) ? 'may be incomplete' : 'is incomplete';
  const error = charged(problem, `${what} The response ${state} and remains charged.`);
  error.options.cause ??= problem;
  return error;
}

/** The error for a permanent failure before the first output. A retry by OpenAI's clients would be charged again. */
export function keptChargeError(problem: ApiError, isResumed: boolean): ApiError {
  const why = isResumed
    ? 'The request was already charged and remains charged.'
    : 'The request remains charged because this account has reached its hourly limit of refunds for this kind of failure.';
  return charged(
    problem,
    `${limitIn(problem) ?? beforeAnswering[problem.code] ?? problem.message} ${why}`,
    // Clients do not retry a status 400.
    problem.statusCode < 500 ? {} : { shouldRetry: false },
  );
}

/** The error for a failed attempt to resume a charged request. Clients may retry it. */
export function resumeFailedError(problem: ApiError): ApiError {
  const { retryAfterSeconds } = problem.options;
  return charged(
    problem,
    `${beforeAnswering[problem.code] ?? problem.message} The request was already charged and remains charged. Send it again with the same \`Idempotency-Key\`.`,
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  );
}

/** Whether a retry with the same idempotency key reruns the work under its charge. All other failures are final. */
export const isOurFailure = ({ code }: ApiError): boolean =>
  code === 'serviceUnavailable' || code === 'internalError';
