/** Reads `UPSTREAMS_FILE`. Contract sections 13 and 15. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isKnownField } from '../domain/completion-fields.ts';
import type { PlanCatalogue } from '../domain/plans.ts';
import { ConfigError, type Env, text } from '../environment.ts';
import { faultsOf } from '../validation.ts';
import {
  mistakesInModel,
  mistakesInNames,
  mistakesInPlans,
  mistakesInUpstream,
  namesOf,
} from './mistakes.ts';
import { type FileModel, FileOutline, type FileUpstream } from './schema.ts';
import type { ModelSettings, RoutingSettings, UpstreamSettings } from './settings.ts';

const DEADLINE_MS = 300_000;
const CURRENCY = 'USD';
const VARIABLE = 'UPSTREAMS_FILE';

type Outline = { upstreams: unknown[]; models: unknown[]; deadlineMs?: number; currency?: string };

const outlineFaults = faultsOf(FileOutline);

/** Variables for a single upstream, which the file replaces. */
const replaced = ['CHAT_URL', 'CHAT_API_KEY', 'CHAT_MODEL', 'CHAT_KIND'];

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
    // The parser's message may quote the file, where somebody may have written a key.
    throw new ConfigError(VARIABLE, 'must contain JSON.');
  }
}

function mistakesIn(content: unknown, env: Env, plans: PlanCatalogue): string[] {
  const both = replaced
    .filter((name) => text(env, name) !== undefined)
    .map((name) => `${name} is set too. Remove it: the file says which upstreams answer chats.`);
  const faults = outlineFaults(content);
  if (faults.length > 0) return [...both, ...faults.map((fault) => `The file: ${fault}.`)];
  const { models, upstreams } = content as Outline;
  const [upstreamNames, modelNames] = [namesOf(upstreams), namesOf(models)];
  const inModels = models.flatMap((model, position) =>
    mistakesInModel(model, position, upstreamNames, plans),
  );
  return [
    ...both,
    ...mistakesInNames(upstreamNames, modelNames),
    ...upstreams.flatMap((upstream, position) => mistakesInUpstream(upstream, position, env)),
    ...inModels,
    // Wrong names of plans would be reported twice.
    ...(inModels.length > 0 ? [] : mistakesInPlans(models as FileModel[], plans)),
  ];
}

/** Every upstream gets the fields that Parley knows, and those of `CHAT_FIELDS`. */
const isForAll = (field: string, env: Env): boolean =>
  isKnownField(field) || (text(env, 'CHAT_FIELDS') ?? '').split(',').some((name) => name.trim() === field);

const upstreamOf = (given: FileUpstream, env: Env): UpstreamSettings => ({
  name: given.name,
  kind: given.kind,
  url: given.url,
  apiKey: given.keyVariable === undefined ? undefined : text(env, given.keyVariable),
  concurrency: given.concurrency,
  timeouts: given.timeouts ?? {},
  headers: given.headers ?? {},
  fields: (given.fields ?? []).filter((field) => !isForAll(field, env)),
});

const modelOf = (given: FileModel): ModelSettings => ({
  name: given.name,
  description: given.description,
  targets: given.targets.map(({ model = given.name, order = 1, prices, upstream, weight = 1 }) => ({
    ...{ model, order, upstream, weight },
    prices: prices && { ...prices, cachedInput: prices.cachedInput ?? prices.input },
  })),
  units: given.units ?? 1,
  plans: given.plans,
  contextTokens: given.contextTokens,
  maxOutputTokens: given.maxOutputTokens,
  capabilities: given.capabilities,
});

/** Throws ConfigError with a sentence for each mistake. */
function load(file: string, env: Env, plans: PlanCatalogue): RoutingSettings {
  const content = contentOf(file);
  const mistakes = mistakesIn(content, env, plans);
  if (mistakes.length > 0) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    throw new ConfigError(
      VARIABLE,
      `has ${count}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    );
  }
  const { currency = CURRENCY, deadlineMs = DEADLINE_MS, models, upstreams } = content as Outline;
  return {
    upstreams: (upstreams as FileUpstream[]).map((upstream) => upstreamOf(upstream, env)),
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

/** Undefined if no file is configured. Throws ConfigError. */
export function upstreamsFile(env: Env, plans: PlanCatalogue): Upstreams | undefined {
  const name = text(env, VARIABLE);
  if (name === undefined) return undefined;
  const file = resolve(name);
  return { settings: load(file, env, plans), reread: () => load(file, env, plans) };
}
