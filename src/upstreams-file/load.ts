/** Reads `UPSTREAMS_FILE`. Contract sections 13 and 15. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ModelTask, modelTasks } from '../../schemas/models.ts';
import { isKnownField } from '../domain/completion-fields.ts';
import type { PlanCatalog } from '../domain/plans.ts';
import { ConfigError, type Env, text } from '../environment.ts';
import { faultsOf } from '../validation/validators.ts';
import {
  mistakesInModel,
  mistakesInNames,
  mistakesInPlans,
  mistakesInUpstream,
  namesOf,
  taskOf,
} from './mistakes.ts';
import { findPackage } from './packages.ts';
import { type FileModel, FileOutline, type FilePrices, type FileUpstream } from './schema.ts';
import type { ModelSettings, Prices, RoutingSettings, UpstreamSettings } from './settings.ts';

const DEADLINE_MS = 300_000;
const CURRENCY = 'USD';
const VARIABLE = 'UPSTREAMS_FILE';

type Outline = { upstreams: unknown[]; models: unknown[]; deadlineMs?: number; currency?: string };

const outlineFaults = faultsOf(FileOutline);

/** Variables for a single upstream, which models in the file replace. */
const replaced: Readonly<Record<ModelTask, { variables: readonly string[]; what: string }>> = {
  chat: { variables: ['CHAT_URL', 'CHAT_API_KEY', 'CHAT_MODEL', 'CHAT_KIND'], what: 'serve chat' },
  embeddings: {
    variables: ['EMBEDDINGS_URL', 'EMBEDDINGS_API_KEY', 'EMBEDDINGS_MODEL'],
    what: 'create embeddings',
  },
  images: { variables: ['IMAGES_URL', 'IMAGES_API_KEY', 'IMAGES_MODEL'], what: 'generate images' },
};

const mistakesInVariables = (tasks: readonly ModelTask[], env: Env): string[] =>
  tasks.flatMap((task) =>
    replaced[task].variables
      .filter((name) => text(env, name) !== undefined)
      .map((name) => `${name} is set too. Remove it: the file says which upstreams ${replaced[task].what}.`),
  );

function contentOf(file: string): unknown {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(VARIABLE, `must be a readable file: ${(error as NodeJS.ErrnoException).code}.`);
  }
  try {
    return JSON.parse(content);
  } catch {
    // The parser's message may quote the file, which may contain a key by mistake.
    throw new ConfigError(VARIABLE, 'must contain JSON.');
  }
}

function mistakesIn(content: unknown, env: Env, plans: PlanCatalog, file: string): string[] {
  const faults = outlineFaults(content);
  if (faults.length > 0)
    return [...mistakesInVariables(['chat'], env), ...faults.map((fault) => `The file: ${fault}.`)];
  const { models, upstreams } = content as Outline;
  const tasks = modelTasks.filter(
    (task) => task === 'chat' || models.some((model) => taskOf(model) === task),
  );
  const [upstreamNames, modelNames] = [namesOf(upstreams), namesOf(models)];
  const inModels = models.flatMap((model, position) => mistakesInModel(model, position, upstreams, plans));
  return [
    ...mistakesInVariables(tasks, env),
    ...mistakesInNames(upstreamNames, modelNames),
    ...upstreams.flatMap((upstream, position) => mistakesInUpstream(upstream, position, env, file)),
    ...inModels,
    // Otherwise wrong plan names would be reported twice.
    ...(inModels.length > 0 ? [] : mistakesInPlans(models as FileModel[], tasks, plans)),
  ];
}

function packageFile(name: string, file: string): string | undefined {
  const found = findPackage(name, file);
  return 'file' in found ? found.file : undefined;
}

/** Whether every upstream gets the field: Parley knows it, or `CHAT_FIELDS` lists it. */
const isForAll = (field: string, env: Env): boolean =>
  isKnownField(field) || (text(env, 'CHAT_FIELDS') ?? '').split(',').some((name) => name.trim() === field);

const upstreamOf = (entry: FileUpstream, env: Env, file: string): UpstreamSettings => ({
  name: entry.name,
  kind: entry.kind,
  url: entry.url,
  packageFile: entry.package === undefined ? undefined : packageFile(entry.package, file),
  apiKey: entry.keyVariable === undefined ? undefined : text(env, entry.keyVariable),
  concurrency: entry.concurrency,
  timeouts: entry.timeouts ?? {},
  headers: entry.headers ?? {},
  fields: (entry.fields ?? []).filter((field) => !isForAll(field, env)),
});

/** A price that does not apply to the task is 0. */
const pricesOf = ({ cachedInput, image = 0, input = 0, output = 0 }: FilePrices): Prices => ({
  ...{ image, input, output },
  cachedInput: cachedInput ?? input,
});

const modelOf = (entry: FileModel): ModelSettings => ({
  name: entry.name,
  task: entry.task ?? 'chat',
  description: entry.description,
  targets: entry.targets.map(({ model = entry.name, order = 1, prices, upstream, weight = 1 }) => ({
    ...{ model, order, upstream, weight },
    prices: prices && pricesOf(prices),
  })),
  units: entry.units ?? 1,
  plans: entry.plans,
  contextTokens: entry.contextTokens,
  maxOutputTokens: entry.maxOutputTokens,
  imageTokens: entry.imageTokens,
  capabilities: entry.capabilities,
});

/** Loads the file. Throws ConfigError with a sentence for each mistake. */
function load(file: string, env: Env, plans: PlanCatalog): RoutingSettings {
  const content = contentOf(file);
  const mistakes = mistakesIn(content, env, plans, file);
  if (mistakes.length > 0) {
    const count = mistakes.length === 1 ? 'an error' : `${mistakes.length} errors`;
    throw new ConfigError(
      VARIABLE,
      `has ${count}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    );
  }
  const { currency = CURRENCY, deadlineMs = DEADLINE_MS, models, upstreams } = content as Outline;
  return {
    upstreams: (upstreams as FileUpstream[]).map((upstream) => upstreamOf(upstream, env, file)),
    models: (models as FileModel[]).map(modelOf),
    deadlineMs,
    currency,
  };
}

export type Upstreams = Readonly<{
  settings: RoutingSettings;
  /** Reads the file again. Throws ConfigError. */
  reread(): RoutingSettings;
}>;

/** Returns undefined if no file is configured. Throws ConfigError. */
export function upstreamsFile(env: Env, plans: PlanCatalog): Upstreams | undefined {
  const name = text(env, VARIABLE);
  if (name === undefined) return undefined;
  const file = resolve(name);
  return { settings: load(file, env, plans), reread: () => load(file, env, plans) };
}
