/** Which model answers. Contract sections 7 and 8. */
import type { ChatEngine } from '../engines/types.ts';
import { ApiError } from '../errors.ts';

/**
 * The model that a request named, or the default one.
 *
 * @throws ApiError `notFound` with `param: "model"` when there is no such model
 */
export async function settleModel(engine: ChatEngine, named: string | undefined): Promise<string> {
  const models = await engine.models();
  const model = named === undefined ? models[0] : models.find(({ id }) => id === named);
  if (model !== undefined) return model.id;
  throw new ApiError('notFound', {
    message: 'There is no such model. `GET /api/v1/models` lists those that there are.',
    param: 'model',
  });
}
