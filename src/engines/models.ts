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

/** For a model that another endpoint takes. */
export const modelForAnother = (task: ModelTask): ApiError =>
  new ApiError('notFound', {
    message: `This model ${uses[task]}, or choose another model from \`GET /api/v1/models\`.`,
    param: 'model',
  });

export const taskOf = ({ task }: Model): ModelTask => task ?? 'chat';

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

const isIn = (plan: string, { plans }: Model): boolean => plans === undefined || plans.includes(plan);

/** A model for an account on a plan, with the units that each answer costs. */
export type ResolvedModel = Model & { units: number };

/**
 * The plan's default one for the task if `named` is undefined.
 *
 * @throws ApiError `notFound` with `param: "model"` if there is none, or if it has another task; `modelNotInPlan`
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

/** Of a plan if it has a model for the task, or else of the service. Throws ApiError `upstreamError` if there is none. */
export async function defaultModel(engine: Models, plan: string, task: ModelTask): Promise<Model> {
  const all = (await engine.models()).filter((model) => taskOf(model) === task);
  const standard = all.find((model) => isIn(plan, model)) ?? all[0];
  if (standard === undefined) throw new ApiError('upstreamError', { cause: 'The engine has no models.' });
  return standard;
}

/** The models of a plan, the default first, then the aliases that stand for one name each. */
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

/** A model that a plan lists. Throws `notFound` for others, so that a plan sees only its own. */
export async function findListedModel(engine: Models, id: string, plan: string): Promise<Model> {
  const model = await findModel(engine, id);
  if (isIn(plan, model)) return model;
  throw noSuchModel();
}
