/** The targets of each model, and the upstreams behind them. Contract section 15. */
import type { Slots } from '../../concurrency/slots.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import { loadProvider } from '../../upstreams-file/packages.ts';
import { apis } from '../../upstreams-file/schema.ts';
import type {
  ModelSettings,
  Prices,
  RoutingSettings,
  UpstreamSettings,
} from '../../upstreams-file/settings.ts';
import { createAiSdkChat } from '../ai-sdk/chat.ts';
import { dialects } from '../dialects/index.ts';
import { tracedChat, tracedEmbeddings, tracedImages } from '../traced.ts';
import type { ChatEngine, EmbeddingEngine, ImageEngine } from '../types.ts';
import { createUpstreamChat } from '../upstream/chat.ts';
import { createUpstreamEmbeddings } from '../upstream/embeddings.ts';
import { createUpstreamImages } from '../upstream/images.ts';
import { createTransport, type UpstreamOptions } from '../upstream/transport.ts';
import { Health } from './health.ts';

export type Upstream = {
  settings: UpstreamSettings;
  chat: ChatEngine;
  /** Undefined if the upstream's API does not support the task. */
  embeddings?: EmbeddingEngine;
  images?: ImageEngine;
  concurrency: number;
  /** After this much silence from the upstream, a client that disconnects counts as the upstream's failure. */
  silentMs: number;
  /** In-flight requests. */
  open: number;
  /** Attempts that ended, and how many of them failed. */
  attempts: number;
  failures: number;
  /** Keyed by the upstream's name for a model, because a quota or a fault often affects only one model. */
  health: Map<string, Health>;
};

export type Target = {
  upstream: Upstream;
  /** The upstream's name for the model. */
  model: string;
  weight: number;
  order: number;
  maxOutputTokens: number | undefined;
  prices: Prices | undefined;
  health: Health;
};

export type RoutedModel = { settings: ModelSettings; targets: readonly Target[] };

export type UpstreamLimits = Omit<UpstreamOptions, 'url' | 'apiKey' | 'headers' | 'onResponse'>;

/** Parts that all upstreams share. */
export type UpstreamParts = {
  limits: UpstreamLimits;
  onResponse(upstream: string, status: number | undefined, seconds: number): void;
  tracer: Tracer | undefined;
  /** Undefined if this process counts alone. */
  slots: Slots | undefined;
};

const CONCURRENCY = 1000;
const FIRST_BYTE_MS = 120_000;
/** `silentMs` as a share of the first-byte timeout. Clients often give up before that timeout. */
const SILENT_SHARE = 1 / 4;

const connectionsOf = ({ concurrency }: UpstreamSettings, { limits }: UpstreamParts) =>
  concurrency ?? limits.connections ?? CONCURRENCY;

const silentMsOf = ({ timeouts }: UpstreamSettings, { limits }: UpstreamParts) =>
  (timeouts.firstByteMs ?? limits.firstByteTimeoutMs ?? FIRST_BYTE_MS) * SILENT_SHARE;

function optionsOf(settings: UpstreamSettings, parts: UpstreamParts): UpstreamOptions {
  const { apiKey, concurrency, headers, name, timeouts, url } = settings;
  const { slots } = parts;
  return {
    ...parts.limits,
    ...{ url, apiKey, headers, connections: connectionsOf(settings, parts) },
    ...(slots && concurrency && { sharedConnections: { slots, name: `upstream:${name}:${concurrency}` } }),
    ...(timeouts.connectMs !== undefined && { connectTimeoutMs: timeouts.connectMs }),
    ...(timeouts.firstByteMs !== undefined && { firstByteTimeoutMs: timeouts.firstByteMs }),
    ...(timeouts.idleMs !== undefined && { idleTimeoutMs: timeouts.idleMs }),
    onResponse: (status: number | undefined, seconds: number) => parts.onResponse(name, status, seconds),
  };
}

function enginesOf(
  settings: UpstreamSettings,
  models: readonly string[],
  parts: UpstreamParts,
): Pick<Upstream, 'chat' | 'embeddings' | 'images'> {
  const { kind, name, packageFile, url } = settings;
  const options = optionsOf(settings, parts);
  const place = parts.tracer && { tracer: parts.tracer, url, kind, name, isOperators: true };
  if (kind === 'ai-sdk') {
    if (packageFile === undefined) throw new Error(`The upstream ${name} has no package.`);
    return { chat: tracedChat(createAiSdkChat({ ...options, create: loadProvider(packageFile) }), place) };
  }
  const dialect = dialects[kind];
  const { keyHeaders } = dialect;
  const { tasks } = apis[kind];
  // All engines of an upstream share its connections.
  const transport = createTransport({ ...options, ...(keyHeaders && { keyHeaders }) });
  const shared = { ...options, transport };
  const named = models.map((id) => ({ id, upstream: id }));
  const chat = createUpstreamChat({ ...shared, dialect, models: { kind: 'exact', models: named } });
  return {
    chat: tracedChat(chat, place),
    ...(tasks.includes('embeddings') && {
      embeddings: tracedEmbeddings(createUpstreamEmbeddings(shared), place),
    }),
    ...(tasks.includes('images') && { images: tracedImages(createUpstreamImages(shared), place) }),
  };
}

const upstreamOf = (
  settings: UpstreamSettings,
  models: readonly string[],
  parts: UpstreamParts,
): Upstream => ({
  ...{ settings, concurrency: connectionsOf(settings, parts), open: 0, attempts: 0, failures: 0 },
  silentMs: silentMsOf(settings, parts),
  health: new Map(),
  ...enginesOf(settings, models, parts),
});

const healthOf = ({ health }: Upstream, model: string): Health => {
  const known = health.get(model) ?? new Health();
  health.set(model, known);
  return known;
};

export class Targets {
  readonly settings: RoutingSettings;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly models: ReadonlyMap<string, RoutedModel>;

  /** @param before - the previous targets; upstreams with unchanged settings keep their connections and health */
  constructor(settings: RoutingSettings, parts: UpstreamParts, before?: Targets) {
    this.settings = settings;
    this.upstreams = new Map(
      settings.upstreams.map((upstream) => {
        const models = settings.models
          .flatMap(({ targets }) => targets)
          .filter((target) => target.upstream === upstream.name)
          .map(({ model }) => model);
        const old = before?.upstreams.get(upstream.name);
        const isSame = old !== undefined && JSON.stringify(old.settings) === JSON.stringify(upstream);
        return [upstream.name, isSame ? old : upstreamOf(upstream, [...new Set(models)], parts)];
      }),
    );
    this.models = new Map(
      settings.models.map((model) => [model.name, { settings: model, targets: this.#targetsOf(model) }]),
    );
  }

  #targetsOf({ maxOutputTokens, targets }: ModelSettings): Target[] {
    return targets.flatMap(({ model, order, prices, upstream: name, weight }) => {
      const upstream = this.upstreams.get(name);
      return upstream === undefined
        ? []
        : [{ upstream, model, weight, order, prices, maxOutputTokens, health: healthOf(upstream, model) }];
    });
  }
}
