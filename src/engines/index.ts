/** Which engines answer on this installation. Contract section 8. */
import type { Static } from '@sinclair/typebox';
import type { EngineInfo } from '../../schemas/service.ts';
import type { Config } from '../config.ts';
import type { Db } from '../store/client.ts';
import { builtinChat } from './builtin/chat.ts';
import { builtinSearch } from './builtin/search.ts';
import type { Engines } from './types.ts';

/**
 * Makes the engines; the built-in ones, which need nothing but the database.
 *
 * @param config - the service's own origin, where links lead
 * @param db - the database, with the passages loaded by the time of the first request
 */
export function createEngines(config: Pick<Config, 'publicUrl'>, db: Db): Engines {
  return { chat: builtinChat(db, config.publicUrl), search: builtinSearch(db, config.publicUrl) };
}

/** What anybody may know about the engines: contract section 1, `GET /service`. */
export async function engineInfo(engines: Engines): Promise<Static<typeof EngineInfo>> {
  const [model] = await engines.chat.models();
  return { chat: engines.chat.kind, images: 'builtin', search: engines.search.kind, default_model: model?.id ?? null };
}
