/** Records which upstream serves a request. Contract section 15. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelTask } from '../../schemas/models.ts';
import { limitsTokens } from '../domain/plans.ts';
import { modelForAnother, type ResolvedModel, resolveModel, taskOf } from '../engines/models.ts';
import type { ChatCall, ChatEngine, CompletionInput, OriginalRequest, RoutedCall } from '../engines/types.ts';
import { withOutputLimit } from '../engines/upstream/output-limit.ts';
import type { Prices } from '../upstreams-file/settings.ts';
import { withMaxOutput } from './cost.ts';

/** The routing of a request, for the log. */
export type Routed = {
  /** The upstream of the last attempt. `model` is that upstream's name for the model. */
  upstream: string;
  model: string;
  attempts: number;
  firstOutputMs?: number;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined before the first attempt. */
    routed: Routed | undefined;
    /** What that upstream charges, if the operator set prices. */
    prices: Prices | undefined;
  }
}

/** The callbacks with which the router reports its attempts, for a response header and the log. */
export function routedCall(request: FastifyRequest, reply: FastifyReply, affinity?: string): RoutedCall {
  const startedAt = performance.now();
  let before: Pick<FastifyRequest, 'routed' | 'prices'> = { routed: undefined, prices: undefined };
  return {
    account: request.caller.accountId,
    // The account ID keeps accounts from influencing each other's routing.
    affinity: affinity && `${request.caller.accountId} ${affinity}`,
    onAttempt(upstream, model, prices) {
      before = { routed: request.routed, prices: request.prices };
      const attempts = (request.routed?.attempts ?? 0) + 1;
      request.routed = { upstream, model, attempts };
      request.prices = prices;
      reply.header('x-parley-attempts', attempts);
    },
    onUnsent() {
      request.routed = before.routed;
      request.prices = before.prices;
      if (before.routed === undefined) reply.removeHeader('x-parley-attempts');
      else reply.header('x-parley-attempts', before.routed.attempts);
    },
    onFailure(upstream, err) {
      request.log.warn({ upstream, err }, 'An upstream failed before its first output.');
    },
    onOutput() {
      if (request.routed) request.routed.firstOutputMs = Math.round(performance.now() - startedAt);
    },
  };
}

/** Adds the output limit of the reservation, if the request's tokens are reserved. */
function limited(
  { maxOutput }: FastifyRequest,
  input: CompletionInput,
  signal: AbortSignal,
  call: ChatCall,
): [CompletionInput, AbortSignal, ChatCall] {
  if (maxOutput === undefined) return [input, signal, call];
  const { original } = call;
  return [
    withOutputLimit(input, maxOutput),
    signal,
    { ...call, original: original && withMaxOutput(original, maxOutput) },
  ];
}

/**
 * The engine for one request. The number of attempts goes to a response header and the log.
 *
 * @param affinity - requests of an account with the same text go to the same upstream while it works
 * @param original - the request as the client sent it, if its API is not chat completions
 */
export function chatFor(
  engine: ChatEngine,
  request: FastifyRequest,
  reply: FastifyReply,
  affinity?: unknown,
  original?: OriginalRequest,
): ChatEngine {
  const isRouted = request.server.engines.router !== undefined;
  const isLimited = limitsTokens(request.server.config.plans);
  if (!isRouted && !isLimited && original === undefined) return engine;
  const call: ChatCall = isRouted
    ? { ...routedCall(request, reply, typeof affinity === 'string' ? affinity : undefined), original }
    : { account: request.caller.accountId, original };
  return {
    ...engine,
    complete: (input, signal) => engine.complete(...limited(request, input, signal, call)),
    stream: (input, signal) => engine.stream(...limited(request, input, signal, call)),
    countTokens: async (input, signal) => engine.countTokens?.(input, signal, call),
  };
}

/**
 * Resolves the model of a request other than chat. Undefined if the operator's file has none for the task.
 *
 * @throws ApiError `notFound` with `param: "model"`; `modelNotInPlan`
 */
export async function routedModel(
  { caller, server: { config, engines } }: FastifyRequest,
  task: Exclude<ModelTask, 'chat'>,
  named: string | undefined,
): Promise<ResolvedModel | undefined> {
  const { router } = engines;
  if (router?.serves(task)) return resolveModel(router, named, config.plans.of(caller).id, task);
  const model = (await router?.models())?.find(({ id }) => id === named);
  // The operator's server may have a model of this name.
  if (model !== undefined && engines[task].kind === 'builtin') throw modelForAnother(taskOf(model));
  return undefined;
}
