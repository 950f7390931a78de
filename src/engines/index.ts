/** Which engines answer on this installation. Contract section 8. */
import type { Static } from '@sinclair/typebox';
import type { EngineInfo } from '../../schemas/service.ts';
import type { Db } from '../database/client.ts';
import { type AnswerLimits, answerLimits, limitedChat } from './answer-limits.ts';
import { builtinChat } from './builtin/chat.ts';
import { builtinImages } from './builtin/images.ts';
import { builtinSearch } from './builtin/search.ts';
import type { Engines } from './types.ts';
import { createUpstreamChat, type UpstreamChatOptions } from './upstream/chat.ts';
import { createUpstreamImages, type UpstreamImagesOptions } from './upstream/images.ts';
import { createUpstreamSearch, type UpstreamSearchOptions } from './upstream/search.ts';
import type { UpstreamOptions } from './upstream/transport.ts';

export type EngineConfig = {
  /** The service's own origin, where links lead. */
  publicUrl: string;
  chat?: UpstreamChatOptions | undefined;
  images?: UpstreamImagesOptions | undefined;
  search?: UpstreamSearchOptions | undefined;
  /** Of each of them. */
  upstreamLimits?: Omit<UpstreamOptions, 'url' | 'apiKey'>;
  answerLimits?: AnswerLimits;
};

/**
 * Makes the engines: for each of the three the upstream that is configured, or else the built-in one, which needs
 * nothing but the database. Nothing is asked of an upstream yet.
 *
 * @param db - the database, with the passages loaded by the time of the first request
 */
export function createEngines(config: EngineConfig, db: Db): Engines {
  const { chat, images, publicUrl, search, upstreamLimits: limits } = config;
  const engine = chat ? createUpstreamChat({ ...chat, ...limits }) : builtinChat(db, publicUrl);
  return {
    chat: limitedChat(engine, config.answerLimits ?? answerLimits),
    images: images ? createUpstreamImages({ ...images, ...limits }) : builtinImages(),
    search: search ? createUpstreamSearch({ ...search, ...limits }) : builtinSearch(db, publicUrl),
  };
}

/** What anybody may know about the engines: contract section 1, `GET /service`. */
export async function engineInfo(engines: Engines): Promise<Static<typeof EngineInfo>> {
  // An upstream that is away is no reason to say nothing.
  const [model] = await engines.chat.models().catch(() => []);
  return {
    chat: engines.chat.kind,
    images: engines.images.kind,
    search: engines.search.kind,
    default_model: model?.id ?? null,
  };
}
