/** The variables `CHAT_*`, `IMAGES_*`, `EMBEDDINGS_*`, and `SEARCH_*`: URLs, keys, and models. Contract section 13. */
import { ConfigError, type Env, oneOf, parsed, text } from '../../environment.ts';
import { apis, type DialectKind, dialectKinds } from '../../upstreams-file/schema.ts';
import { type ModelMap, type NamedModel, parseModelMap } from './model-map.ts';

export type ChatUpstream = Readonly<{
  url: string;
  apiKey: string | undefined;
  models: ModelMap;
  kind: DialectKind;
}>;
export type ImagesUpstream = Readonly<{ url: string; apiKey: string | undefined; model: string | undefined }>;
export type EmbeddingsUpstream = Readonly<{
  url: string;
  apiKey: string | undefined;
  /** The only available models, default first. If empty, clients may use any model of the upstream. */
  models: readonly NamedModel[];
}>;
export type SearchUpstream = Readonly<{ url: string }>;

/** Validates a URL. Errors never quote it, because its query string may contain a key. */
function upstreamUrl(env: Env, name: string, example: string, endpoint?: string): string | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
    throw new ConfigError(
      name,
      `must be an http or https URL such as ${example}, without credentials or a fragment.`,
    );
  if (endpoint !== undefined && url.pathname.replace(/\/+$/, '').endsWith(endpoint))
    throw new ConfigError(name, `must be the base URL, such as ${example}, without ${endpoint}.`);
  return value;
}

/** Validates a key: a header must be able to hold it. Errors never quote it. */
function upstreamKey(env: Env, name: string): string | undefined {
  const value = text(env, name);
  if (value !== undefined && !/^[\x21-\x7e]+$/.test(value))
    throw new ConfigError(name, 'must contain only visible ASCII characters, without spaces.');
  return value;
}

/** Rejects a key or model without a URL, because the built-in engine would silently reply instead. */
function refuseWithoutUrl(env: Env, service: 'CHAT' | 'IMAGES' | 'EMBEDDINGS'): undefined {
  const kind = service === 'CHAT' ? ['CHAT_KIND'] : [];
  const given = [`${service}_API_KEY`, `${service}_MODEL`, ...kind].find(
    (name) => text(env, name) !== undefined,
  );
  if (given !== undefined) throw new ConfigError(given, `requires ${service}_URL. Set both or neither.`);
}

/** Reads the `CHAT_*` variables. Undefined without `CHAT_URL`. Throws ConfigError for an invalid variable. */
export function chatUpstream(env: Env): ChatUpstream | undefined {
  const kind = oneOf(env, 'CHAT_KIND', dialectKinds, 'openai');
  const url = upstreamUrl(env, 'CHAT_URL', 'http://localhost:11434/v1', apis[kind].path);
  if (url === undefined) return refuseWithoutUrl(env, 'CHAT');
  return {
    url,
    apiKey: upstreamKey(env, 'CHAT_API_KEY'),
    models: parsed(env, 'CHAT_MODEL', parseModelMap),
    kind,
  };
}

export function imagesUpstream(env: Env): ImagesUpstream | undefined {
  const url = upstreamUrl(env, 'IMAGES_URL', 'https://api.openai.com/v1', '/images/generations');
  if (url === undefined) return refuseWithoutUrl(env, 'IMAGES');
  const model = text(env, 'IMAGES_MODEL');
  if (model !== undefined && model.length > 200)
    throw new ConfigError('IMAGES_MODEL', 'must be at most 200 characters.');
  return { url, apiKey: upstreamKey(env, 'IMAGES_API_KEY'), model };
}

export function embeddingsUpstream(env: Env): EmbeddingsUpstream | undefined {
  const url = upstreamUrl(env, 'EMBEDDINGS_URL', 'http://localhost:11434/v1', '/embeddings');
  if (url === undefined) return refuseWithoutUrl(env, 'EMBEDDINGS');
  const map = parsed(env, 'EMBEDDINGS_MODEL', parseModelMap);
  return { url, apiKey: upstreamKey(env, 'EMBEDDINGS_API_KEY'), models: modelsOf(map) };
}

/** Vectors of different models are not comparable, so a single name allows only that model. */
function modelsOf(map: ModelMap): readonly NamedModel[] {
  if (map.kind === 'preferred') return [{ id: map.name, upstream: map.name }];
  return map.kind === 'exact' ? map.models : [];
}

export function searchUpstream(env: Env): SearchUpstream | undefined {
  const url = upstreamUrl(env, 'SEARCH_URL', 'http://localhost:8888/search');
  return url === undefined ? undefined : { url };
}
