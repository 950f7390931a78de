/** The models of an upstream, fetched at most once a minute and never concurrently. Contract sections 7 and 8. */
import { ApiError } from '../../errors.ts';
import type { Model } from '../types.ts';
import { UpstreamProblem } from './errors.ts';
import { isObject, textWithin, wholeNumber } from './json.ts';
import type { ModelMap } from './model-map.ts';
import { MIB, type Transport } from './transport.ts';

const FRESH_MS = 60_000;
/** How soon a failed request for the list is retried: often enough to notice a server that starts. */
const RETRY_MS = 5000;
const FETCH_MS = 5000;
const MAX_MODELS = 10_000;
const MAX_LENGTH = 200;
/** Some servers list hundreds of models, with kilobytes of description for each. */
const ANSWER_BYTES = 8 * MIB;

const named = (id: string): Model => ({ id, object: 'model', created: 0, owned_by: 'upstream' });

/** Names of the context window in vLLM, OpenRouter, and Groq. */
const windowFields = ['max_model_len', 'context_length', 'context_window'] as const;

function contextOf(row: Record<string, unknown>): Pick<Model, 'contextTokens'> {
  const [tokens] = windowFields.map((field) => wholeNumber(row[field]) ?? 0).filter((count) => count > 0);
  return tokens === undefined ? {} : { contextTokens: tokens };
}

function readModels(answer: Record<string, unknown>): Model[] {
  const rows = Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
  const models = new Map<string, Model>();
  for (const row of rows.slice(0, MAX_MODELS)) {
    const id = isObject(row) ? textWithin(row.id, MAX_LENGTH) : undefined;
    if (!isObject(row) || id === undefined) continue;
    models.set(id, {
      ...named(id),
      created: wholeNumber(row.created) ?? 0,
      owned_by: textWithin(row.owned_by, MAX_LENGTH) ?? 'upstream',
      ...contextOf(row),
    });
  }
  return [...models.values()];
}

export type ModelList = {
  /**
   * The available models, the default first. Refreshes the list in the background after a minute, and keeps the old
   * list while the upstream is unavailable.
   *
   * @throws ApiError `upstreamError` or `upstreamTimeout` if there is no list and `CHAT_MODEL` names no model
   */
  models(): Promise<Model[]>;
  /** The upstream's name for a model. */
  upstreamName(id: string): string;
};

/** `map` is `CHAT_MODEL`, `path` the path of the list, and `now` the clock in milliseconds. */
export function createModelList(
  transport: Pick<Transport, 'json'>,
  map: ModelMap,
  path = '/models',
  now: () => number = () => performance.now(),
): ModelList {
  if (map.kind === 'exact') {
    const upstreamNames = new Map(map.models.map(({ id, upstream }) => [id, upstream]));
    const models = map.models.map(({ id }) => named(id));
    return { models: async () => models, upstreamName: (id) => upstreamNames.get(id) ?? id };
  }

  let listed: Model[] | undefined;
  let error: unknown;
  let dueAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  async function fetchList(): Promise<void> {
    const signal = AbortSignal.timeout(FETCH_MS);
    try {
      const models = readModels(
        await transport.json({
          method: 'GET',
          path,
          signal,
          maxBytes: ANSWER_BYTES,
          isUncounted: true,
        }),
      );
      if (models.length === 0) throw new UpstreamProblem('The list is empty.');
      listed = models;
      dueAt = now() + FRESH_MS;
    } catch (cause) {
      error = signal.aborted
        ? new ApiError('upstreamTimeout', { cause: new UpstreamProblem(`No list within ${FETCH_MS} ms.`) })
        : cause;
      dueAt = now() + RETRY_MS;
    }
  }

  function refresh(): Promise<void> {
    underWay ??= fetchList().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  function noList(): ApiError {
    const why =
      error instanceof ApiError && error.options.cause instanceof Error ? error.options.cause : error;
    const message = `The upstream's model list is unavailable, and CHAT_MODEL does not name a model: ${why instanceof Error ? why.message : why}`;
    const isTimeout = error instanceof ApiError && error.code === 'upstreamTimeout';
    return new ApiError(isTimeout ? 'upstreamTimeout' : 'upstreamError', {
      cause: new UpstreamProblem(message),
    });
  }

  return {
    upstreamName: (id) => id,
    async models() {
      const isDue = now() >= dueAt;
      const fetching = isDue || underWay !== undefined ? refresh() : undefined;
      // With a configured model, only the first call waits: an upstream whose list hangs may still serve chat.
      if (listed === undefined && (map.kind === 'listed' || error === undefined)) await fetching;
      if (map.kind === 'listed') {
        if (listed === undefined) throw noList();
        return listed;
      }
      const preferred = listed?.find(({ id }) => id === map.name) ?? named(map.name);
      return [preferred, ...(listed ?? []).filter(({ id }) => id !== map.name)];
    },
  };
}
