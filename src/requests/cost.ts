/** The largest possible cost of a request, before it is admitted. Contract sections 5 and 15. */
import type { FastifyRequest } from 'fastify';
import { limitsTokens } from '../domain/plans.ts';
import { estimatedInput, inputsOf } from '../engines/embedding-input.ts';
import type { ResolvedModel } from '../engines/models.ts';
import type { CompletionInput, EmbeddingInput, OriginalRequest } from '../engines/types.ts';
import { outputLimit } from '../engines/upstream/output-limit.ts';
import { estimatedUsage, tokensOf } from '../engines/upstream/usage.ts';
import type { Outcome } from '../ledger/types.ts';
import {
  embeddedBound,
  likelyTokens,
  PER_IMAGE,
  type PromptSize,
  promptBound,
  promptSize,
  tokensBound,
} from './token-bound.ts';

export type Cost = {
  /** Units of the meter, charged all or nothing. */
  units: number;
  /** The model ID to record, or null if there is none. */
  model?: string | null;
  /** The most tokens that the request can use. Set if any plan limits tokens. */
  tokens?: number;
  /** The part of `tokens` that the prompt can use. */
  promptTokens?: number;
  /** The most tokens of each reply. Sent to the engine if the tokens are reserved. */
  maxOutput?: number;
  /** The estimated usage of an engine that reported none. */
  estimate?(): Outcome;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the request's tokens are reserved. */
    maxOutput: number | undefined;
  }
}

/** The smallest part of the window to leave for output. If the prompt fills the window, the upstream says so. */
const MIN_SHARE_OF_WINDOW = 1 / 16;

/** The longest reply, in tokens. Strict servers reject a limit that does not fit into the window beside the prompt. */
function longestAnswer(
  defaultMost: number,
  {
    contextTokens = Number.POSITIVE_INFINITY,
    max_output_tokens: most = Number.POSITIVE_INFINITY,
  }: ResolvedModel,
  requested: number | undefined,
  prompt: PromptSize,
): number {
  if (requested !== undefined) return Math.min(requested, most, contextTokens);
  const left = Math.max(contextTokens - likelyTokens(prompt), Math.ceil(contextTokens * MIN_SHARE_OF_WINDOW));
  return Math.min(defaultMost, most, left);
}

/**
 * The cost of a chat request.
 *
 * @param original - the request as the client sent it, if its API is not chat completions
 */
export function chatCost(
  request: FastifyRequest,
  model: ResolvedModel,
  input: CompletionInput,
  original?: object,
): Cost {
  const { defaultMaxOutputTokens, plans } = request.server.config;
  const { id, imageTokens = PER_IMAGE } = model;
  const answers = input.n ?? 1;
  const units = model.units * answers;
  const estimate = () => ({ model: id, ...tokensOf(estimatedUsage(input, 0)) });
  if (!limitsTokens(plans)) return { units, model: id, estimate };
  const size = promptSize(input);
  const maxOutput = longestAnswer(defaultMaxOutputTokens, model, outputLimit(input), size);
  const inOriginal = original === undefined ? 0 : promptBound(promptSize(original), imageTokens);
  const promptTokens = Math.max(promptBound(size, imageTokens), inOriginal);
  const tokens = tokensBound(promptTokens, answers, maxOutput);
  return { units, model: id, tokens, promptTokens, maxOutput, estimate };
}

/** @param model - the name to record */
export function embeddingCost(
  request: FastifyRequest,
  input: EmbeddingInput,
  units: number,
  model: string | null,
): Cost {
  const estimate = () => ({
    ...{ model, inputTokens: estimatedInput(input.input), outputTokens: 0 },
    unreported: {},
  });
  if (!limitsTokens(request.server.config.plans)) return { units, model, estimate };
  const promptTokens = tokensBound(embeddedBound(inputsOf(input.input)), 0, 0);
  return { units, model, tokens: promptTokens, promptTokens, estimate };
}

/**
 * The tokens to charge if an engine was called and reported none: the most of the reservation that it can have used.
 * Output of known size counts at most one token per byte.
 */
export function reservedTokens(
  { promptTokens = 0, tokens = 0 }: Cost,
  bytes: number | undefined,
): Pick<Outcome, 'inputTokens' | 'outputTokens'> {
  const most = tokens - promptTokens;
  return { inputTokens: promptTokens, outputTokens: bytes === undefined ? most : Math.min(bytes, most) };
}

const fieldOf = { responses: 'max_output_tokens', anthropic: 'max_tokens' } as const;

/** The request in the client's API format, with a limit on its output. */
export const withMaxOutput = (original: OriginalRequest, maxOutput: number): OriginalRequest => ({
  ...original,
  body: () => ({ ...original.body(), [fieldOf[original.language]]: maxOutput }),
});
