/** The longest answer, which chat completions have two names for. Contract sections 8 and 15. */
import { ApiError } from '../../errors.ts';
import type { CompletionInput } from '../types.ts';
import { UpstreamProblem } from './errors.ts';
import { saysUnsupported } from './problems.ts';

const LIMIT = 'max_tokens';
/** Some servers ignore it, and some of OpenAI's models require it. */
const NEWER_LIMIT = 'max_completion_tokens';

type Limits = Pick<CompletionInput, typeof LIMIT | typeof NEWER_LIMIT>;

/** The limit that a request sets, in tokens: the smaller one of two. Undefined if it sets none. */
export function outputLimit({ max_completion_tokens: newer, max_tokens: older }: Limits): number | undefined {
  const limits = [newer, older].filter((limit) => typeof limit === 'number');
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** The request with a limit under the name that every server knows, and under no other. */
export function withOutputLimit<Body extends Limits>(body: Body, limit: number): Body {
  const { [NEWER_LIMIT]: _newer, ...rest } = body;
  return { ...rest, [LIMIT]: limit } as Body;
}

/** The same under the newer name. */
export function withNewerLimit<Body extends Limits>(body: Body, limit: number): Body {
  const { [LIMIT]: _older, ...rest } = body;
  return { ...rest, [NEWER_LIMIT]: limit } as Body;
}

/**
 * Whether the upstream rejected the name of the limit. If it rejects the value, the newer name could get past its check
 * without any limit.
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
