/** Chooses among several upstreams. The client sees one request and one reply. Contract section 15. */
import { type ModelTask, modelTasks } from '../../../schemas/models.ts';
import type { Slots } from '../../concurrency/slots.ts';
import { ApiError } from '../../errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import type { ModelSettings, RoutingSettings } from '../../upstreams-file/settings.ts';
import type { DerivedSignal } from '../derived-signal.ts';
import { type Progress, progressOf } from '../progress.ts';
import type { Model, RoutedCall } from '../types.ts';
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
  /** Slots that this process shares with others, for each upstream's `concurrency`. */
  slots?: Slots | undefined;
  /** The clock, in milliseconds. */
  now?: () => number;
  /** Random numbers above 0 and below 1. */
  random?: () => number;
};

/** The state of an upstream, for operators. */
export type UpstreamState = Pick<Upstream, 'open' | 'concurrency' | 'attempts' | 'failures'> & {
  name: string;
  kind: string;
  targets: { model: string; state: HealthState; ready_in_ms: number }[];
};

/** An attempt whose reply has begun. */
export type Opened<T> = { value: T; target: Target; attempt: Attempt };

type Failed = {
  target: Target;
  attempt: Attempt;
  /** The time when it began, and the request's progress at that time. */
  before: { at: number } & Partial<Progress>;
};

/** A request to one of several targets. */
export type Routed = { targets: readonly Target[]; signal: DerivedSignal; call: RoutedCall | undefined };

const publicModel = (model: ModelSettings): Model => ({
  id: model.name,
  object: 'model',
  created: 0,
  owned_by: 'upstream',
  ...(model.task !== 'chat' && { task: model.task }),
  ...(model.description !== undefined && { description: model.description }),
  ...(model.contextTokens !== undefined && {
    contextTokens: model.contextTokens,
    context_window: model.contextTokens,
  }),
  ...(model.imageTokens !== undefined && { imageTokens: model.imageTokens }),
  ...(model.maxOutputTokens !== undefined && { max_output_tokens: model.maxOutputTokens }),
  ...(model.capabilities !== undefined && { capabilities: [...model.capabilities] }),
  units: model.units,
  ...(model.plans !== undefined && { plans: model.plans }),
});

/** The default model of a task is its first one. */
const publicModels = ({ models }: RoutingSettings): Model[] =>
  modelTasks.flatMap((task) => models.filter((model) => model.task === task).map(publicModel));

export class Router {
  readonly #limits: UpstreamLimits;
  readonly #metrics: Metrics;
  readonly #tracer: Tracer | undefined;
  readonly #slots: Slots | undefined;
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
    this.#slots = options.slots;
    this.#now = now;
    this.#random = random;
    this.#targets = this.#targetsOf(settings);
    this.#models = publicModels(settings);
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
      'max',
    );
  }

  /** Replaces the configuration. In-flight requests end on the targets where they began. */
  reload(settings: RoutingSettings): void {
    this.#targets = this.#targetsOf(settings, this.#targets);
    this.#models = publicModels(settings);
    this.#fields = settings.upstreams.flatMap(({ fields }) => fields);
  }

  /** Additional fields of chat completions that at least one upstream accepts. */
  get fields(): readonly string[] {
    return this.#fields;
  }

  /** The currency of all prices. */
  get currency(): string {
    return this.#targets.settings.currency;
  }

  /** The state of each upstream in this process. */
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
    const parts = { limits: this.#limits, onResponse, tracer: this.#tracer, slots: this.#slots };
    return new Targets(settings, parts, before);
  }

  models = async (): Promise<Model[]> => [...this.#models];

  /** Whether the operator's file has models for a task. */
  serves(task: ModelTask): boolean {
    return this.#targets.settings.models.some((model) => model.task === task);
  }

  /** The targets of a model that may support a request. `check` throws if one does not; this throws if none does. */
  capable(model: string | undefined, check: (target: Target) => void): Target[] {
    let refusal: unknown;
    const all = (model === undefined ? undefined : this.#targets.models.get(model)?.targets) ?? [];
    const capable = all.filter((target) => {
      try {
        check(target);
        return true;
      } catch (error) {
        refusal = error;
        return false;
      }
    });
    if (capable.length === 0 && refusal !== undefined) throw refusal;
    return capable;
  }

  choose(targets: readonly Target[], call: RoutedCall | undefined): Target | undefined {
    return chosen(targets, call ?? {}, this.#now(), this.#random);
  }

  /** A request's signal with the deadline for its first output. Call `end` once. */
  deadlineOf(signal: AbortSignal): DerivedSignal {
    return attemptSignal(signal, this.#targets.settings.deadlineMs);
  }

  /** Tries targets until one returns a whole reply. */
  async whole<T>(
    { call, targets }: Omit<Routed, 'signal'>,
    outer: AbortSignal,
    ask: (target: Target, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const signal = this.deadlineOf(outer);
    try {
      const { attempt, target, value } = await this.open({ targets, signal, call }, (chosen) =>
        ask(chosen, signal.signal),
      );
      this.end(target, attempt, 'success');
      return value;
    } finally {
      signal.end();
    }
  }

  /** Tries targets until a reply begins. The caller ends the attempt. */
  async open<T>(
    { call, signal, targets }: Routed,
    begin: (target: Target) => Promise<T>,
  ): Promise<Opened<T>> {
    const left = new Set(targets);
    let error: unknown;
    for (;;) {
      signal.signal.throwIfAborted();
      const target = this.choose([...left], call);
      if (target === undefined) throw error ?? this.#noneReady([...left]);
      left.delete(target);
      const { health, model, prices, upstream } = target;
      const { name } = upstream.settings;
      call?.onAttempt?.(name, model, prices);
      const attempt = health.begin(call?.account);
      const before = { at: this.#now(), ...progressOf(signal.signal) };
      upstream.open += 1;
      try {
        const value = await begin(target);
        health.answered(attempt);
        call?.onOutput?.();
        return { value, target, attempt };
      } catch (thrown) {
        const failed = { target, attempt, before };
        const isUnsent = this.#isUnsent(failed, signal);
        if (isUnsent) call?.onUnsent?.();
        if (!this.#failed(failed, thrown, signal, isUnsent)) throw thrown;
        call?.onFailure?.(name, thrown);
        error = thrown;
      }
    }
  }

  /** Whether the request never left this process's queue, so that the target never received it. */
  #isUnsent({ before }: Failed, { signal }: DerivedSignal): boolean {
    const progress = progressOf(signal);
    return progress?.isQueued === true && progress.sent === before.sent;
  }

  /** Ends a failed attempt. Returns whether to try another target. */
  #failed(
    { attempt, before, target }: Failed,
    error: unknown,
    { signal }: DerivedSignal,
    isUnsent: boolean,
  ): boolean {
    // Either the client disconnected, or the deadline for all attempts passed.
    const isOver = signal.aborted;
    const isLate = isOver && signal.reason instanceof ApiError;
    const { isOfTarget, isWorthAnother, pauseMs } = failureOf(isOver ? signal.reason : error);
    if (isUnsent) {
      target.upstream.open -= 1;
      target.health.end(attempt, 'left', this.#now());
      return isWorthAnother && !isOver;
    }
    const { received, isQueued = false, queuedMs = 0, sent } = progressOf(signal) ?? {};
    const didAnswer = error instanceof ApiError && error.code === 'invalidRequest';
    if (pauseMs !== undefined) target.health.pauseFor(pauseMs, this.#now());
    const isSilent =
      sent !== before.sent && received === before.received && target.health.isSilentSince(attempt);
    const silentMs = this.#now() - before.at - (queuedMs - (before.queuedMs ?? 0));
    const isDead = isOver && isSilent && silentMs >= target.upstream.silentMs;
    const isWaiting = isOver && isQueued;
    const isFailure = isDead || (!isWaiting && (isLate || isOfTarget));
    this.end(target, attempt, isFailure ? 'failure' : didAnswer ? 'success' : 'left');
    return isWorthAnother && !isOver;
  }

  /** Ends an attempt that failed or whose reply had begun. */
  end(target: Target, attempt: Attempt, how: AttemptEnd): void {
    target.upstream.open -= 1;
    target.upstream.attempts += 1;
    if (how === 'failure') target.upstream.failures += 1;
    target.health.end(attempt, how, this.#now());
    this.#metrics.upstreamAttempts.inc({ upstream: target.upstream.settings.name, outcome: how });
  }

  /** Additional fields that only other upstreams accept. */
  foreignFields({ settings: { fields: taken } }: Upstream): string[] {
    return this.#fields.filter((field) => !taken.includes(field));
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
