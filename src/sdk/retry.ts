import { retryAfterOf } from './errors.ts';

const IDEMPOTENCY_KEY = 'idempotency-key';
/** No retry if the wait would be longer: an exhausted quota resets only at midnight. */
const MAX_WAIT_SECONDS = 60;
const FIRST_WAIT_SECONDS = 0.5;
const IN_PROGRESS = 409;
const TOO_MANY_REQUESTS = 429;

/**
 * @param maxRetries - the number of attempts after the first
 * @returns a `fetch` that retries only safe requests: GET, PUT, DELETE, requests with an `Idempotency-Key`, and
 * requests that a rate limit rejected. It waits for `Retry-After`, or for half a second, doubled with each attempt.
 */
export function withRetries(
  fetch: (request: Request) => Promise<Response>,
  maxRetries: number,
): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let retries = 0; ; retries += 1) {
      const isLast = retries >= maxRetries;
      const attempt = isLast ? request : request.clone();
      const answer = await fetch(attempt).catch((error: unknown) => {
        if (isLast || request.signal.aborted || !isSafe(request)) throw error;
        return undefined;
      });
      if (answer && (isLast || !isWorthRepeating(request, answer))) return answer;
      await answer?.body?.cancel();
      const seconds = retryAfterOf(answer?.headers) ?? FIRST_WAIT_SECONDS * 2 ** retries;
      await wait(seconds, request.signal);
    }
  };
}

const isSafe = ({ headers, method }: Request): boolean =>
  ['GET', 'PUT', 'DELETE'].includes(method) || headers.has(IDEMPOTENCY_KEY);

function isWorthRepeating(request: Request, { headers, status }: Response): boolean {
  const seconds = retryAfterOf(headers);
  if (headers.get('x-should-retry') === 'false' || (seconds ?? 0) > MAX_WAIT_SECONDS) return false;
  if (status === TOO_MANY_REQUESTS) return seconds !== null;
  if (status === IN_PROGRESS) return request.headers.has(IDEMPOTENCY_KEY);
  return status >= 500 && isSafe(request);
}

function wait(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve();
    }, seconds * 1000);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
