import type { ChatEngine, Model } from '../engines/types.ts';
import { ApiError } from '../errors.ts';

/** Throws `notFound` with `param: "model"` if there is none. */
export async function findModel(engine: ChatEngine, id: string): Promise<Model> {
  const model = (await engine.models()).find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  throw new ApiError('notFound', {
    message: 'This model does not exist. `GET /api/v1/models` lists the available models.',
    param: 'model',
  });
}

/** The default one if `named` is undefined. Throws `notFound` with `param: "model"` if there is none. */
export async function resolveModel(engine: ChatEngine, named: string | undefined): Promise<Model> {
  if (named !== undefined) return findModel(engine, named);
  const [standard] = await engine.models();
  if (standard === undefined) throw new ApiError('upstreamError', { cause: 'The engine has no models.' });
  return standard;
}
