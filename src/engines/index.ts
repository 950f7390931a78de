/** Creates the engines that the configuration selects. Contract section 13. */
import type { Static } from '@sinclair/typebox';
import type { EngineInfo } from '../../schemas/service.ts';
import type { Slots } from '../concurrency/slots.ts';
import type { Documentation } from '../docs/documentation.ts';
import { Metrics } from '../telemetry/metrics.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { DialectKind } from '../upstreams-file/schema.ts';
import type { RoutingSettings } from '../upstreams-file/settings.ts';
import { type AnswerLimits, answerLimits, limitedChat } from './answer-limits.ts';
import { builtinChat } from './builtin/chat.ts';
import { builtinEmbeddings } from './builtin/embeddings.ts';
import { builtinImages } from './builtin/images.ts';
import { builtinSearch } from './builtin/search.ts';
import { dialects } from './dialects/index.ts';
import type { Engines } from './engines.ts';
import type { ModelAliases } from './model-aliases.ts';
import { taskOf } from './models.ts';
import { routedChat } from './routing/chat.ts';
import { routedEmbeddings } from './routing/embeddings.ts';
import { routedImages } from './routing/images.ts';
import { Router } from './routing/router.ts';
import { stoppableChat } from './stoppable.ts';
import { type TraceContext, tracedChat, tracedEmbeddings, tracedImages, tracedSearch } from './traced.ts';
import { createUpstreamChat, type UpstreamChatOptions } from './upstream/chat.ts';
import { createUpstreamEmbeddings, type UpstreamEmbeddingsOptions } from './upstream/embeddings.ts';
import { createUpstreamImages, type UpstreamImagesOptions } from './upstream/images.ts';
import { createUpstreamSearch, type UpstreamSearchOptions } from './upstream/search.ts';
import type { UpstreamOptions } from './upstream/transport.ts';

export type EngineConfig = {
  /** Base URL of links in replies. */
  publicUrl: string;
  chat?: (Omit<UpstreamChatOptions, 'dialect'> & { kind?: DialectKind }) | undefined;
  /** Replaces `chat`. Also replaces `images` and `embeddings` while the file has models for those tasks. */
  upstreams?: { settings: RoutingSettings } | undefined;
  images?: UpstreamImagesOptions | undefined;
  search?: UpstreamSearchOptions | undefined;
  embeddings?: UpstreamEmbeddingsOptions | undefined;
  /** Options of every upstream. */
  upstreamLimits?: Omit<UpstreamOptions, 'url' | 'apiKey'>;
  answerLimits?: AnswerLimits;
  chatModelAliases?: ModelAliases;
};

/**
 * Creates each engine: the configured upstream or the built-in engine. Contacts no upstream. Contract section 8.
 *
 * @param slots - connection slots that this process shares with others; undefined if it counts alone
 */
export function createEngines(
  config: EngineConfig,
  documentation: Documentation,
  metrics = new Metrics(),
  tracer?: Tracer,
  slots?: Slots,
): Engines {
  const { chat, embeddings, images, publicUrl, search } = config;
  const optionsFor = (upstream: keyof Engines) => ({
    ...config.upstreamLimits,
    onResponse: (status: number | undefined, seconds: number) =>
      metrics.upstreamSeconds.observe({ upstream, status: status ?? 'none' }, seconds),
  });
  const traceContext = (place: Omit<TraceContext, 'tracer'>): TraceContext | undefined =>
    tracer && { ...place, tracer };
  const router =
    config.upstreams &&
    new Router(config.upstreams.settings, {
      ...{ limits: config.upstreamLimits ?? {}, metrics, tracer, slots },
    });
  const engine = router
    ? routedChat(router)
    : chat
      ? tracedChat(
          createUpstreamChat({ ...chat, dialect: dialects[chat.kind ?? 'openai'], ...optionsFor('chat') }),
          traceContext({ url: chat.url, ...(chat.kind && { kind: chat.kind }) }),
        )
      : builtinChat(documentation, publicUrl);
  const oneImages = images
    ? tracedImages(
        createUpstreamImages({ ...images, ...optionsFor('images') }),
        traceContext({
          url: images.url,
          ...(images.model && { models: [{ id: images.model, upstream: images.model }] }),
        }),
      )
    : builtinImages();
  const oneEmbeddings = embeddings
    ? tracedEmbeddings(
        createUpstreamEmbeddings({ ...embeddings, ...optionsFor('embeddings') }),
        traceContext(embeddings),
      )
    : builtinEmbeddings();
  const aliases = config.chatModelAliases;
  return {
    ...(router && { router }),
    chat: {
      ...stoppableChat(limitedChat(engine, config.answerLimits ?? answerLimits)),
      ...(aliases && { aliases }),
    },
    images: router ? routedImages(router, oneImages) : oneImages,
    search: search
      ? tracedSearch(createUpstreamSearch({ ...search, ...optionsFor('search') }), traceContext(search))
      : builtinSearch(documentation, publicUrl),
    embeddings: router ? routedEmbeddings(router, oneEmbeddings) : oneEmbeddings,
  };
}

/** Public information about the engines. Contract section 1, `GET /service`. */
export async function engineInfo(engines: Engines): Promise<Static<typeof EngineInfo>> {
  // An unavailable upstream must not fail the response.
  const models = await engines.chat.models().catch(() => []);
  const model = models.find((candidate) => taskOf(candidate) === 'chat');
  return {
    chat: engines.chat.kind,
    images: engines.images.kind,
    search: engines.search.kind,
    embeddings: engines.embeddings.kind,
    default_model: model?.id ?? null,
  };
}
