/** What a page of the documentation names for its reader: the models of this service, and the reader's own key. */
import { setTimeout as elapsed } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { ModelTask } from '../../schemas/models.ts';
import type { Config } from '../config.ts';
import { type OwnModels, unnamedModel } from '../docs/own-models.ts';
import { builtinEmbeddingModel } from '../domain/builtin-models.ts';
import type { Engines } from '../engines/engines.ts';
import { defaultModel } from '../engines/models.ts';
import { restoreSession } from '../plugins/sessions.ts';
import { type ApiKeyRow, listActiveKeys } from '../store/keys.ts';

type Service = {
  config: Pick<Config, 'plans' | 'embeddings'>;
  engines: Pick<Engines, 'chat' | 'embeddings' | 'router'>;
};

/** A page does not wait longer for the list of an upstream. */
const PATIENCE_MS = 1000;

/**
 * The default models of new accounts, or a placeholder for each unknown one. Do not keep the result: the models change
 * when the operator reloads the upstreams file.
 */
export async function ownModels({ config, engines }: Service): Promise<OwnModels> {
  const standard = (task: ModelTask) =>
    Promise.race([
      defaultModel(engines.chat, config.plans.standard.id, task).catch(() => undefined),
      elapsed(PATIENCE_MS, undefined, { ref: false }),
    ]);
  const { created, id, owned_by } = (await standard('chat')) ?? unnamedModel;
  const embeddings = engines.router?.serves('embeddings')
    ? (await standard('embeddings'))?.id
    : engines.embeddings.kind === 'builtin'
      ? builtinEmbeddingModel
      : config.embeddings?.models[0]?.id;
  return { chat: { id, created, owned_by }, embeddings: embeddings ?? unnamedModel.id };
}

/** The newest active key. The samples are the same without it, so a failure is no reason to withhold the page. */
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
