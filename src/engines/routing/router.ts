/** Chat over several upstreams: one request, one answer, whatever happens behind it. Contract section 15. */
import { ApiError } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import type { ModelSettings, RoutingSettings } from '../../upstreams/settings.ts';
import { abortable } from '../abortable.ts';
import type { DerivedSignal } from '../derived-signal.ts';
import { firstOutput } from '../first-output.ts';
import type {
  ChatCall,
  ChatEngine,
  CompletionChunk,
  CompletionInput,
  CompletionResult,
  Model,
} from '../types.ts';
import { UpstreamProblem } from '../upstream/errors.ts';
import { attemptSignal } from './attempt-signal.ts';
import { chosen } from './choice.ts';
import { failureOf } from './failures.ts';
import type { Attempt, AttemptEnd, HealthState } from './health.ts';
import { type Target, Targets, type Upstream, type UpstreamLimits } from './targets.ts';

export type RouterOptions = {
  limits?: UpstreamLimits;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  /** The clock, in milliseconds. */
  now?: () => number;
  /** Above 0 and below 1. */
  random?: () => number;
};

/** An upstream in the operators' view. */
export type UpstreamState = Pick<Upstream, 'open' | 'concurrency' | 'attempts' | 'failures'> & {
  name: string;
  kind: string;
  targets: { model: string; state: HealthState; ready_in_ms: number }[];
};

/** An attempt whose answer has begun. */
type Opened<T> = { value: T; target: Target; attempt: Attempt };

type Asked = { input: CompletionInput; signal: DerivedSignal; call: ChatCall | undefined };

/** What the engine of a target learns of a request. */
const toldTo = ({ maxOutputTokens }: Target, call: ChatCall | undefined): ChatCall => ({
  said: call?.said,
  maxOutputTokens,
});

const publicModel = (model: ModelSettings): Model => ({
  id: model.name,
  object: 'model',
  created: 0,
  owned_by: 'upstream',
  ...(model.description !== undefined && { description: model.description }),
  ...(model.contextTokens !== undefined && {
    contextTokens: model.contextTokens,
    context_window: model.contextTokens,
  }),
  ...(model.maxOutputTokens !== undefined && { max_output_tokens: model.maxOutputTokens }),
  ...(model.capabilities !== undefined && { capabilities: [...model.capabilities] }),
  units: model.units,
  ...(model.plans !== undefined && { plans: model.plans }),
});

export class ChatRouter implements ChatEngine {
  readonly kind = 'upstream';
  readonly #limits: UpstreamLimits;
  readonly #metrics: Metrics;
  readonly #tracer: Tracer | undefined;
  readonly #now: () => number;
  readonly #random: () => number;
  #targets: Targets;
  #models: readonly Model[];
  #fields: readonly string[];

  constructor(settings: RoutingSettings, options: RouterOptions) {
    const { limits = {}, metrics, now = () => performance.now(), random = Math.random } = options;
    this.#limits = limits;
    this.#metrics = metrics;
    this.#tracer = options.tracer;
    this.#now = now;
    this.#random = random;
    this.#targets = this.#targetsOf(settings);
    this.#models = settings.models.map(publicModel);
    this.#fields = settings.upstreams.flatMap(({ fields }) => fields);
    metrics.gauge(
      'parley_upstream_cooling_targets',
      'Targets of an upstream that receive no requests because they failed or asked for a pause.',
      ['upstream'],
      () =>
        [...this.#targets.upstreams.values()].map(({ health, settings: { name } }) => ({
          labels: { upstream: name },
          value: [...health.values()].filter(({ until }) => until > this.#now()).length,
        })),
    );
  }

  /** Replaces the configuration. Requests in progress end on the targets where they began. */
  reload(settings: RoutingSettings): void {
    this.#targets = this.#targetsOf(settings, this.#targets);
    this.#models = settings.models.map(publicModel);
    this.#fields = settings.upstreams.flatMap(({ fields }) => fields);
  }

  /** Fields of chat completions that at least one upstream takes besides those that Parley knows. */
  get fields(): readonly string[] {
    return this.#fields;
  }

  /** Of all prices. */
  get currency(): string {
    return this.#targets.settings.currency;
  }

  /** How each upstream fares in this process. */
  health(): UpstreamState[] {
    const now = this.#now();
    return [...this.#targets.upstreams.values()].map(
      ({ attempts, concurrency, failures, health, open, settings: { kind, name } }) => ({
        ...{ name, kind, open, concurrency, attempts, failures },
        targets: [...health].map(([model, of]) => {
          const state = of.state(now);
          return { model, state, ready_in_ms: Math.max(0, Math.ceil(of.until - now)) };
        }),
      }),
    );
  }

  #targetsOf(settings: RoutingSettings, before?: Targets): Targets {
    const onResponse = (upstream: string, status: number | undefined, seconds: number) =>
      this.#metrics.upstreamSeconds.observe({ upstream, status: status ?? 'none' }, seconds);
    return new Targets(settings, { limits: this.#limits, onResponse, tracer: this.#tracer }, before);
  }

  models = async (): Promise<Model[]> => [...this.#models];

  /** Throws only if every target is known to lack support. */
  check = (input: Pick<CompletionInput, 'model' | 'n'>): void => {
    this.#capable(input);
  };

  /** The targets that may support a request. */
  #capable({ model, n }: Pick<CompletionInput, 'model' | 'n'>): Target[] {
    let refusal: unknown;
    const capable = (this.#targets.models.get(model)?.targets ?? []).filter(({ model: name, upstream }) => {
      try {
        upstream.engine.check?.({ model: name, ...(n !== undefined && { n }) });
        return true;
      } catch (error) {
        refusal = error;
        return false;
      }
    });
    if (capable.length === 0 && refusal !== undefined) throw refusal;
    return capable;
  }

  /** Asks one of the healthy upstreams that count. */
  countTokens = async (
    input: CompletionInput,
    signal: AbortSignal,
    call?: ChatCall,
  ): Promise<number | undefined> => {
    const counting = this.#capable(input).filter(({ upstream }) => upstream.engine.countTokens);
    const target = chosen(counting, call ?? {}, this.#now(), this.#random);
    if (target === undefined) return undefined;
    const { engine } = target.upstream;
    return engine.countTokens?.(this.#sent(input, target), signal, toldTo(target, call));
  };

  complete = async (
    input: CompletionInput,
    outer: AbortSignal,
    call?: ChatCall,
  ): Promise<CompletionResult> => {
    const signal = attemptSignal(outer, this.#targets.settings.deadlineMs);
    try {
      const { attempt, target, value } = await this.#open({ input, signal, call }, (engine, sent, told) =>
        engine.complete(sent, signal.signal, told),
      );
      this.#end(target, attempt, 'success');
      value.model = input.model;
      return value;
    } finally {
      signal.end();
    }
  };

  stream = (input: CompletionInput, outer: AbortSignal, call?: ChatCall): AsyncIterable<CompletionChunk> => ({
    [Symbol.asyncIterator]: () => abortable(outer, (gone) => this.#chunks(input, gone, call)),
  });

  async *#chunks(
    input: CompletionInput,
    outer: AbortSignal,
    call: ChatCall | undefined,
  ): AsyncGenerator<CompletionChunk, void, undefined> {
    const signal = attemptSignal(outer, this.#targets.settings.deadlineMs);
    const named = (chunk: CompletionChunk) => {
      chunk.model = input.model;
      return chunk;
    };
    try {
      const { attempt, target, value } = await this.#open(
        { input, signal, call },
        async (engine, sent, told) => {
          const chunks = engine.stream(sent, signal.signal, told)[Symbol.asyncIterator]();
          try {
            return { chunks, held: await firstOutput(chunks) };
          } catch (error) {
            await chunks.return?.();
            throw error;
          }
        },
      );
      signal.lift();
      let how: AttemptEnd = 'left';
      try {
        for (const chunk of value.held) yield named(chunk);
        for (;;) {
          const next = await value.chunks.next();
          if (next.done) break;
          yield named(next.value);
        }
        how = 'success';
      } catch (error) {
        if (!signal.signal.aborted && failureOf(error).isOfTarget) how = 'failure';
        throw error;
      } finally {
        this.#end(target, attempt, how);
        await value.chunks.return?.();
      }
    } finally {
      signal.end();
    }
  }

  /** Tries targets until an answer begins. The caller ends the attempt. */
  async #open<T>(
    { call, input, signal }: Asked,
    begin: (engine: ChatEngine, input: CompletionInput, call: ChatCall) => Promise<T>,
  ): Promise<Opened<T>> {
    const left = new Set(this.#capable(input));
    let error: unknown;
    for (;;) {
      signal.signal.throwIfAborted();
      const target = chosen([...left], call ?? {}, this.#now(), this.#random);
      if (target === undefined) throw error ?? this.#noneReady([...left]);
      left.delete(target);
      const { health, prices, upstream } = target;
      const { name } = upstream.settings;
      call?.onAttempt?.(name, prices);
      const attempt = health.begin(call?.account);
      upstream.open += 1;
      try {
        const value = await begin(upstream.engine, this.#sent(input, target), toldTo(target, call));
        health.answered(attempt);
        call?.onOutput?.();
        return { value, target, attempt };
      } catch (thrown) {
        if (!this.#failed(target, attempt, thrown, signal)) throw thrown;
        call?.onFailure?.(name, thrown);
        error = thrown;
      }
    }
  }

  /** Ends a failed attempt. Returns whether to try another target. */
  #failed(target: Target, attempt: Attempt, error: unknown, { signal }: DerivedSignal): boolean {
    // Either the client left, or the deadline for all attempts passed.
    const isOver = signal.aborted;
    const isLate = isOver && signal.reason instanceof ApiError;
    const { isOfTarget, isWorthAnother, pauseMs } = failureOf(isOver ? signal.reason : error);
    const didAnswer = error instanceof ApiError && error.code === 'invalidRequest';
    if (pauseMs !== undefined) target.health.pauseFor(pauseMs, this.#now());
    this.#end(target, attempt, isLate || isOfTarget ? 'failure' : didAnswer ? 'success' : 'left');
    return isWorthAnother && !isOver;
  }

  #end(target: Target, attempt: Attempt, how: AttemptEnd): void {
    target.upstream.open -= 1;
    target.upstream.attempts += 1;
    if (how === 'failure') target.upstream.failures += 1;
    target.health.end(attempt, how, this.#now());
    this.#metrics.upstreamAttempts.inc({ upstream: target.upstream.settings.name, outcome: how });
  }

  /** The request for one target, without the fields that only other upstreams take. */
  #sent(input: CompletionInput, { model, upstream }: Target): CompletionInput {
    const sent: CompletionInput = { ...input, model };
    for (const { settings } of this.#targets.upstreams.values())
      for (const field of settings.fields) if (!upstream.settings.fields.includes(field)) delete sent[field];
    return sent;
  }

  #noneReady(targets: readonly Target[]): ApiError {
    const now = this.#now();
    const earliest = Math.min(...targets.map(({ health }) => Math.max(health.until, now)));
    const retryAfterSeconds = Math.max(1, Math.ceil((earliest - now) / 1000));
    return new ApiError('overloaded', {
      ...(Number.isFinite(retryAfterSeconds) && { retryAfterSeconds }),
      cause: new UpstreamProblem('All targets of the model are cooling down.'),
    });
  }
}
