import type { ChatEngine, Model } from '../engines/types.ts';
import { ApiError } from '../errors.ts';
import { aliased } from './model-aliases.ts';

export const noSuchModel = (): ApiError =>
  new ApiError('notFound', {
    message: 'This model does not exist. `GET /api/v1/models` lists the available models.',
    param: 'model',
  });

type Models = Pick<ChatEngine, 'aliases' | 'models'>;

/** By its own name, or else by an alias. Throws `notFound` with `param: "model"` if there is none. */
export async function findModel(engine: Models, id: string): Promise<Model> {
  const { aliases } = engine;
  const all = await engine.models();
  const named = (name: string | undefined) => all.find((candidate) => candidate.id === name);
  const model = named(id) ?? (aliases && named(aliased(aliases, id)));
  if (model !== undefined) return model;
  throw noSuchModel();
}

/** The default one if `named` is undefined. Throws `notFound` with `param: "model"` if there is none. */
export async function resolveModel(engine: ChatEngine, named: string | undefined): Promise<Model> {
  if (named !== undefined) return findModel(engine, named);
  const [standard] = await engine.models();
  if (standard === undefined) throw new ApiError('upstreamError', { cause: 'The engine has no models.' });
  return standard;
}

/** The models, the default first, then the aliases that stand for one name each. */
export async function listedModels(engine: Models): Promise<Model[]> {
  const { aliases } = engine;
  const all = await engine.models();
  const named = new Map(all.map((model) => [model.id, model]));
  const others = [...(aliases?.exact ?? [])].flatMap(([id, target]) => {
    const model = named.get(target);
    return model === undefined || named.has(id) ? [] : [{ ...model, id }];
  });
  return [...all, ...others];
}
