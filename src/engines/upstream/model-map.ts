/** `CHAT_MODEL`: the available models and the upstream's names for them. Contract sections 8 and 13. */

/** A model's public name, and the upstream's name for it. */
export type NamedModel = { id: string; upstream: string };

export type ModelMap =
  /** All models that the upstream lists, in its order. */
  | { kind: 'listed' }
  /** All models that the upstream lists, with this model first. */
  | { kind: 'preferred'; name: string }
  /** Only these models, default first. */
  | { kind: 'exact'; models: readonly NamedModel[] };

const MAX_NAME_LENGTH = 200;

const isName = (name: string) => name !== '' && name.length <= MAX_NAME_LENGTH && !/[\p{Cc}=]/u.test(name);

/** Parses an empty value, `name`, or `public=upstream, plain`. An error's message follows the variable's name. */
export function parseModelMap(value: string | undefined): ModelMap {
  const text = value?.trim() ?? '';
  if (text === '') return { kind: 'listed' };

  const entries = text.split(',').map((entry) => entry.trim());
  const models = entries.map((entry) => {
    if (entry === '') throw new Error('has an empty entry between its commas.');
    const [id = '', upstream = id, ...more] = entry.split('=').map((name) => name.trim());
    if (more.length > 0 || !isName(id) || !isName(upstream)) {
      throw new Error(
        `must list names such as gpt-5, or pairs such as fast=gpt-5-mini, of at most ${MAX_NAME_LENGTH} characters each, not "${entry}".`,
      );
    }
    return { id, upstream };
  });

  const twice = models.find(({ id }, position) => models.findIndex((model) => model.id === id) < position);
  if (twice !== undefined) throw new Error(`lists the model "${twice.id}" twice.`);
  const [only] = models;
  if (only !== undefined && models.length === 1 && !text.includes('='))
    return { kind: 'preferred', name: only.id };
  return { kind: 'exact', models };
}
