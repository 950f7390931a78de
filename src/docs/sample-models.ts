/**
 * Replaces the models and questions in samples. Guides and examples use the built-in models, which a service with other
 * models does not have.
 */
import type { Static } from '@sinclair/typebox';
import type { Model } from '../../schemas/models.ts';
import { builtinEmbeddingModel, builtinModel } from '../domain/builtin-models.ts';
import { inUrl, shellQuoted } from './code-samples.ts';
import { forLanguageModel, guideForLanguageModel } from './sample-questions.ts';

type ChatModel = Pick<Static<typeof Model>, 'id' | 'created' | 'owned_by'>;

export type OwnModels = {
  chat: ChatModel;
  /** The ID of the embedding model. */
  embeddings: string;
};

/** A placeholder, as in the dashboard's samples. */
export const unnamedModel: ChatModel = { id: 'MODEL', created: 0, owned_by: 'upstream' };

const hasLanguageModel = ({ chat }: OwnModels): boolean => chat.id !== builtinModel.id;

const nameFor = (builtin: string | undefined, { chat, embeddings }: OwnModels): string =>
  builtin === builtinEmbeddingModel ? embeddings : chat.id;

/** Formats a name as a string literal with the original quotes. Without a language, it is inline code. */
function literal(name: string, quote: string, language: string | undefined): string {
  const json = JSON.stringify(name);
  // Guides write JSON within the shell's single quotes.
  if (language === 'bash') return quote === '"' ? json.replaceAll("'", "'\\''") : shellQuoted(name);
  const text = quote === '"' ? json : `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  return language === undefined ? text.replaceAll('`', '\\u0060') : text;
}

/** The capturing group keeps the blocks when a text is split at them. */
const codeBlocks = /(^```\w*\n[\s\S]*?^```$)/m;

/** Matches names in quotes or URLs. Elsewhere, a guide describes the built-in engine itself. */
const builtinNames = new RegExp(
  `(['"])(${builtinEmbeddingModel}|${builtinModel.id})\\1|(?<=/models/)${builtinModel.id}(?![\\w-])`,
  'g',
);

/** Replaces the models in a guide's code and responses, and questions that only the built-in engine can answer. */
export const withOwnModels = (markdown: string, models: OwnModels): string =>
  (hasLanguageModel(models) ? guideForLanguageModel(markdown) : markdown)
    .split(codeBlocks)
    .map((part) => {
      const [, language] = /^```(\w*)/.exec(part) ?? [];
      return part.replace(builtinNames, (_, quote: string | undefined, builtin: string | undefined) => {
        const name = nameFor(builtin, models);
        return quote === undefined ? inUrl(name) : literal(name, quote, language);
      });
    })
    .join('');

/** Only in the example of a service with built-in engines. */
const ofBuiltinEngines = 'default_model';

function withNames(value: unknown, models: OwnModels): unknown {
  if (value === builtinModel.id || value === builtinEmbeddingModel) return nameFor(value, models);
  if (typeof value === 'string' && hasLanguageModel(models)) return forLanguageModel(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, models));
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === ofBuiltinEngines ? item : withNames(item, models),
    ]),
  );
  const isModel = copy.object === 'model' && (value as Partial<ChatModel>).id === builtinModel.id;
  return isModel ? { ...copy, ...models.chat } : copy;
}

/** Replaces the models in an OpenAPI document's examples, and questions that only the built-in engine can answer. */
export const documentWithOwnModels = <T extends object>(document: T, models: OwnModels): T =>
  withNames(document, models) as T;

/** Caches values by name until the models change. */
export function keptForModels<T>(): (models: OwnModels, name: string, make: () => T) => T {
  const kept = new Map<string, T>();
  let last: string | undefined;
  return (models, name, make) => {
    const current = JSON.stringify(models);
    if (current !== last) kept.clear();
    last = current;
    const value = kept.get(name) ?? make();
    kept.set(name, value);
    return value;
  };
}
