import type { ModelTask } from '../../schemas/models.ts';
import { ApiError } from '../errors.ts';
import { aliased } from './model-aliases.ts';
import type { ChatEngine, Model } from './types.ts';

export const noSuchModel = (): ApiError =>
  new ApiError('notFound', {
    message: 'This model does not exist. `GET /api/v1/models` lists the available models.',
    param: 'model',
  });

const uses: Readonly<Record<ModelTask, string>> = {
  chat: 'is for chat. Use it with `POST /api/v1/chat/completions`',
  embeddings: 'creates embeddings. Use it with `POST /api/v1/embeddings`',
  images: 'generates images. Use it with `POST /api/v1/images/generations`',
};

/** The error for a model that belongs to another endpoint. */
export const modelForAnother = (task: ModelTask): ApiError =>
  new ApiError('notFound', {
    message: `This model ${uses[task]}, or choose another model from \`GET /api/v1/models\`.`,
    param: 'model',
  });

export const taskOf = ({ task }: Model): ModelTask => task ?? 'chat';

type Models = Pick<ChatEngine, 'aliases' | 'models'>;

/** Finds a model by its name, then by alias. Throws `notFound` with `param: "model"` if neither matches. */
export async function findModel(engine: Models, id: string): Promise<Model> {
  const { aliases } = engine;
  const all = await engine.models();
  const named = (name: string | undefined) => all.find((candidate) => candidate.id === name);
  const model = named(id) ?? (aliases && named(aliased(aliases, id)));
  if (model !== undefined) return model;
  throw noSuchModel();
}

const isIn = (plan: string, { plans }: Model): boolean => plans === undefined || plans.includes(plan);

/** A model for an account on a plan, with the units that each reply costs. */
export type ResolvedModel = Model & { units: number };

/**
 * Finds the named model. If `named` is undefined, chooses the plan's default model for the task.
 *
 * @throws ApiError `notFound` with `param: "model"` if the model does not exist or has another task; `modelNotInPlan`
 */
export async function resolveModel(
  engine: Models,
  named: string | undefined,
  plan: string,
  task: ModelTask = 'chat',
): Promise<ResolvedModel> {
  const model = named === undefined ? await defaultModel(engine, plan, task) : await findModel(engine, named);
  if (taskOf(model) !== task) throw modelForAnother(taskOf(model));
  if (!isIn(plan, model)) throw new ApiError('modelNotInPlan', { param: 'model' });
  return { ...model, units: model.units ?? 1 };
}

/** The default model of the plan, or else of the service. Throws ApiError `upstreamError` if there is no model. */
export async function defaultModel(engine: Models, plan: string, task: ModelTask): Promise<Model> {
  const all = (await engine.models()).filter((model) => taskOf(model) === task);
  const standard = all.find((model) => isIn(plan, model)) ?? all[0];
  if (standard === undefined) throw new ApiError('upstreamError', { cause: 'The engine has no models.' });
  return standard;
}

/** The models of a plan, the default first, followed by the exact aliases. */
export async function listedModels(engine: Models, plan: string): Promise<Model[]> {
  const { aliases } = engine;
  const all = (await engine.models()).filter((model) => isIn(plan, model));
  const named = new Map(all.map((model) => [model.id, model]));
  const others = [...(aliases?.exact ?? [])].flatMap(([id, target]) => {
    const model = named.get(target);
    return model === undefined || named.has(id) ? [] : [{ ...model, id }];
  });
  return [...all, ...others];
}

/** Finds a model that a plan lists. Throws `notFound` for any other, so that an account sees only its plan's models. */
export async function findListedModel(engine: Models, id: string, plan: string): Promise<Model> {
  const model = await findModel(engine, id);
  if (isIn(plan, model)) return model;
  throw noSuchModel();
}
