/** `CHAT_MODEL`: which models are offered, and what the upstream calls them. Contract sections 8 and 13. */

export type ModelMap =
  /** Everything that the upstream lists. */
  | { kind: 'listed' }
  /** The same, this one first. */
  | { kind: 'preferred'; name: string }
  /** These and no others, the default one first. */
  | { kind: 'exact'; models: readonly { id: string; upstream: string }[] };

const MAX_NAME_LENGTH = 200;

const isName = (name: string) => name !== '' && name.length <= MAX_NAME_LENGTH && !/[\p{Cc}=]/u.test(name);

/**
 * Reads the variable.
 *
 * @param value - nothing; `name`; or `public=upstream, public2=upstream2, plain`
 * @throws Error whose message says what is wrong, to stand after the variable's name
 */
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
  if (twice !== undefined) throw new Error(`names the model "${twice.id}" twice.`);
  const [only] = models;
  if (only !== undefined && models.length === 1 && !text.includes('='))
    return { kind: 'preferred', name: only.id };
  return { kind: 'exact', models };
}
