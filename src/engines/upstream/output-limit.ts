/** The output limit of a request, for which chat completions have two names. Contract sections 8 and 15. */
import { ApiError } from '../../errors.ts';
import type { CompletionInput } from '../types.ts';
import { UpstreamProblem } from './errors.ts';
import { saysUnsupported } from './problems.ts';

const LIMIT = 'max_tokens';
/** Some servers ignore this name, and some of OpenAI's models require it. */
const NEWER_LIMIT = 'max_completion_tokens';

type Limits = Pick<CompletionInput, typeof LIMIT | typeof NEWER_LIMIT>;

/** The output limit of a request in tokens: the smaller of the two fields. Undefined if it sets neither. */
export function outputLimit({ max_completion_tokens: newer, max_tokens: older }: Limits): number | undefined {
  const limits = [newer, older].filter((limit) => typeof limit === 'number');
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Sets the limit under the name that every server accepts, and removes the other name. */
export function withOutputLimit<Body extends Limits>(body: Body, limit: number): Body {
  const { [NEWER_LIMIT]: _newer, ...rest } = body;
  return { ...rest, [LIMIT]: limit } as Body;
}

/** Sets the limit under the newer name, and removes the other name. */
export function withNewerLimit<Body extends Limits>(body: Body, limit: number): Body {
  const { [LIMIT]: _older, ...rest } = body;
  return { ...rest, [NEWER_LIMIT]: limit } as Body;
}

/**
 * Whether the upstream rejected the name of the limit. Returns false if it rejected the value: some servers ignore the
 * newer name, and the request would then have no limit.
 */
export function refusesLimitName(error: unknown): boolean {
  const { cause, reason } = error instanceof ApiError ? error.options : {};
  if (!(cause instanceof UpstreamProblem) || cause.field !== LIMIT) return false;
  if (cause.status !== 400 && cause.status !== 422) return false;
  return (
    reason === 'unsupported_parameter' ||
    reason === 'unknown_parameter' ||
    (reason === undefined && (saysUnsupported.test(cause.message) || cause.message.includes(NEWER_LIMIT)))
  );
}
