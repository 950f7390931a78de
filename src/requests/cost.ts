/** What a request can cost, before it is admitted. Contract sections 5 and 15. */
import type { FastifyRequest } from 'fastify';
import type { ResolvedModel } from '../domain/models.ts';
import { limitsTokens } from '../domain/plans.ts';
import { embeddedBound, promptBound, tokensBound } from '../domain/token-bound.ts';
import { inputsOf } from '../engines/embedding-input.ts';
import type { CompletionInput, EmbeddingInput, SaidRequest } from '../engines/types.ts';

export type Cost = {
  /** Charged all or nothing. */
  units: number;
  /** The most tokens it can use, if any plan limits tokens. */
  tokens?: number;
  /** The most tokens of each answer. Sent to the engine if the tokens are reserved. */
  maxOutput?: number;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the request's tokens are reserved. */
    maxOutput?: number;
  }
}

/** Undefined if the client sets none. */
function askedOutput({
  max_completion_tokens: most,
  max_tokens: older,
}: CompletionInput): number | undefined {
  const asked = [most, older].filter((count) => typeof count === 'number');
  return asked.length === 0 ? undefined : Math.min(...asked);
}

/**
 * The cost of a chat request.
 *
 * @param said - the request as the client sent it, if its API is not chat completions
 */
export function chatCost(
  request: FastifyRequest,
  model: ResolvedModel,
  input: CompletionInput,
  said?: object,
): Cost {
  const { defaultMaxOutputTokens, plans } = request.server.config;
  const answers = input.n ?? 1;
  const units = model.units * answers;
  if (!limitsTokens(plans)) return { units };
  const maxOutput = Math.min(
    askedOutput(input) ?? defaultMaxOutputTokens,
    model.max_output_tokens ?? Number.POSITIVE_INFINITY,
    model.contextTokens ?? Number.POSITIVE_INFINITY,
  );
  const prompt = Math.max(promptBound(input), said === undefined ? 0 : promptBound(said));
  return { units, tokens: tokensBound(prompt, answers, maxOutput), maxOutput };
}

export function embeddingCost(request: FastifyRequest, input: EmbeddingInput, units: number): Cost {
  if (!limitsTokens(request.server.config.plans)) return { units };
  return { units, tokens: tokensBound(embeddedBound(inputsOf(input.input)), 0, 0) };
}

/** The request with the limit of its answer, under the name that the client chose, or that most servers know. */
export function withMaxOutput(input: CompletionInput, maxOutput: number): CompletionInput {
  const { max_completion_tokens: most, max_tokens: older } = input;
  const isNamed = typeof most === 'number' || typeof older === 'number';
  return {
    ...input,
    ...(typeof most === 'number' && { max_completion_tokens: maxOutput }),
    ...((typeof older === 'number' || !isNamed) && { max_tokens: maxOutput }),
  };
}

const fieldOf = { responses: 'max_output_tokens', anthropic: 'max_tokens' } as const;

/** The same for the request in the client's own API. */
export const saidWithMaxOutput = (said: SaidRequest, maxOutput: number): SaidRequest => ({
  ...said,
  body: () => ({ ...said.body(), [fieldOf[said.language]]: maxOutput }),
});
