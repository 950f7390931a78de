/** The parts of a documentation page that depend on its reader: the service's models and the reader's key. */
import { setTimeout as elapsed } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { ModelTask } from '../../schemas/models.ts';
import type { Config } from '../config.ts';
import { type OwnModels, unnamedModel } from '../docs/sample-models.ts';
import { builtinEmbeddingModel } from '../domain/builtin-models.ts';
import type { Engines } from '../engines/engines.ts';
import { defaultModel } from '../engines/models.ts';
import { restoreSession } from '../plugins/sessions.ts';
import { type ApiKeyRow, listActiveKeys } from '../store/keys.ts';

type Service = {
  config: Pick<Config, 'plans' | 'embeddings'>;
  engines: Pick<Engines, 'chat' | 'embeddings' | 'router'>;
};

/** How long a page waits for an upstream's list of models. */
const TIMEOUT_MS = 1000;

/**
 * The default models of new accounts, or a placeholder for each unknown one. Do not cache the result, because the
 * models change when the operator reloads the upstreams file.
 */
export async function ownModels({ config, engines }: Service): Promise<OwnModels> {
  const standard = (task: ModelTask) =>
    Promise.race([
      defaultModel(engines.chat, config.plans.standard.id, task).catch(() => undefined),
      elapsed(TIMEOUT_MS, undefined, { ref: false }),
    ]);
  const { created, id, owned_by } = (await standard('chat')) ?? unnamedModel;
  const embeddings = engines.router?.serves('embeddings')
    ? (await standard('embeddings'))?.id
    : engines.embeddings.kind === 'builtin'
      ? builtinEmbeddingModel
      : config.embeddings?.models[0]?.id;
  return { chat: { id, created, owned_by }, embeddings: embeddings ?? unnamedModel.id };
}

/** The newest active key. The page works without it, so a failed lookup is only logged. */
export async function newestKey(request: FastifyRequest): Promise<ApiKeyRow | undefined> {
  try {
    const session = await restoreSession(request);
    if (session === null) return undefined;
    const [newest] = await listActiveKeys(request.server.db, session.accountId);
    return newest;
  } catch (error) {
    request.log.warn(
      { err: error },
      "Could not look up the reader's key. Showing the documentation without it.",
    );
    return undefined;
  }
}
