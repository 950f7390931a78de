/** Finds the mistakes in `UPSTREAMS_FILE`. Describes each in one sentence. */
import { type ModelTask, modelTasks } from '../../schemas/models.ts';
import { parseChatFields } from '../domain/completion-fields.ts';
import { includes, type PlanCatalog } from '../domain/plans.ts';
import type { Env } from '../environment.ts';
import { faultsOf } from '../validation/validators.ts';
import { findPackage } from './packages.ts';
import {
  type Api,
  apis,
  type FileModel,
  type FileUpstream,
  FileUpstream as FileUpstreamSchema,
  fileModels,
} from './schema.ts';

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const VARIABLE = /^[A-Za-z_]\w*$/;
/** Does not match keys, such as `gsk_a1B2`, which operators may enter by mistake. */
const PLAIN_VARIABLE = /^[A-Z_][A-Z0-9_]{0,63}$/;
const VISIBLE = /^[\x21-\x7e]+$/;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
const HEADER_VALUE = /^[\x20-\x7e]{0,4000}$/;
/** Headers that Parley sets itself. */
const ownHeaders = new Set([
  ...['accept', 'connection', 'content-length', 'content-type', 'expect', 'host', 'keep-alive', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'user-agent'],
  ...Object.values(apis).map(({ keyHeader }) => keyHeader),
]);

const upstreamFaults = faultsOf(FileUpstreamSchema);
const modelFaults = {
  chat: faultsOf(fileModels.chat),
  embeddings: faultsOf(fileModels.embeddings),
  images: faultsOf(fileModels.images),
};

/** Whether a kind, which may be invalid, supports a task. The AI SDK only supports chat. */
const takes = (kind: unknown, task: ModelTask): boolean =>
  ((apis as Record<string, Api>)[String(kind)]?.tasks ?? ['chat']).includes(task);

const repeated = (names: readonly string[]) => [
  ...new Set(names.filter((name, position) => names.indexOf(name) < position)),
];
const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');

const memberOf = (entry: unknown, name: string): unknown =>
  typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>)[name] : undefined;

/** The name of an entry in messages, even if the entry has none. */
function titleOf(what: string, entry: unknown, position: number): string {
  const name = memberOf(entry, 'name');
  return typeof name === 'string' && name !== ''
    ? `${what} "${name.slice(0, 100)}"`
    : `${what} ${position + 1}`;
}

export const namesOf = (entries: readonly unknown[]): string[] =>
  entries.map((entry) => memberOf(entry, 'name')).filter((name) => typeof name === 'string');

/** The task of a model, which may be invalid. */
export const taskOf = (model: unknown): ModelTask =>
  modelTasks.find((task) => task === memberOf(model, 'task')) ?? 'chat';

/** Never quotes the URL, because its query string may contain a key. */
function urlMistakes(value: string): string[] {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
    return ['`url` must be an http or https URL without credentials or a fragment.'];
  const pathname = url.pathname.replace(/\/+$/, '');
  const endpoint = Object.values(apis).find(({ path }) => pathname.endsWith(path));
  return endpoint === undefined ? [] : [`\`url\` must be the base URL, without ${endpoint.path}.`];
}

/** Never quotes the key. */
function keyMistakes(variable: string, env: Env): string[] {
  if (!VARIABLE.test(variable)) return ['`keyVariable` must be the name of an environment variable.'];
  const key = env[variable]?.trim() ?? '';
  if (key === '') {
    const named = PLAIN_VARIABLE.test(variable)
      ? `the environment variable ${variable}, which`
      : 'an environment variable that';
    return [`\`keyVariable\` names ${named} is not set.`];
  }
  return VISIBLE.test(key)
    ? []
    : [`the key in ${variable} must contain only visible ASCII characters, without spaces.`];
}

function headerMistakes(headers: Record<string, string>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!HEADER_NAME.test(name))
      return [`"${name.slice(0, 100)}" in \`headers\` is not a valid header name.`];
    if (ownHeaders.has(name.toLowerCase())) return [`\`headers\` must not set ${name}.`];
    return HEADER_VALUE.test(value)
      ? []
      : [`the value of ${name} in \`headers\` must be at most 4,000 characters of printable ASCII.`];
  });
}

function fieldMistakes(fields: readonly string[]): string[] {
  const apart = fields.find((field) => field.includes(','));
  if (apart !== undefined) return ['`fields` must list one name per entry.'];
  try {
    parseChatFields(fields.join(','));
    return [];
  } catch (error) {
    return [`\`fields\` ${(error as Error).message}`];
  }
}

/** Only the kind `ai-sdk` has a package. It does not support additional fields of chat completions. */
function packageMistakes({ fields = [], kind, package: name }: FileUpstream, file: string): string[] {
  if (kind !== 'ai-sdk') return name === undefined ? [] : ['`package` requires `kind` to be ai-sdk.'];
  if (fields.length > 0) return ['`fields` is not supported if `kind` is ai-sdk.'];
  if (name === undefined)
    return ['`package` must name a provider package of the AI SDK, such as @ai-sdk/google.'];
  const found = findPackage(name, file);
  return 'mistake' in found ? [found.mistake] : [];
}

export function mistakesInUpstream(entry: unknown, position: number, env: Env, file: string): string[] {
  const title = titleOf('Upstream', entry, position);
  const faults = upstreamFaults(entry);
  if (faults.length > 0) return faults.map((fault) => `${title}: ${fault}.`);
  const { fields = [], headers = {}, keyVariable, name, url } = entry as FileUpstream;
  return [
    ...(NAME.test(name)
      ? []
      : [
          '`name` must be 1 to 64 letters, digits, dots, hyphens, or underscores, and begin with a letter or digit.',
        ]),
    ...urlMistakes(url),
    ...(keyVariable === undefined ? [] : keyMistakes(keyVariable, env)),
    ...headerMistakes(headers),
    ...fieldMistakes(fields),
    ...packageMistakes(entry as FileUpstream, file),
  ].map((mistake) => `${title}: ${mistake}`);
}

export function mistakesInModel(
  entry: unknown,
  position: number,
  upstreams: readonly unknown[],
  catalog: PlanCatalog,
): string[] {
  const title = titleOf('Model', entry, position);
  const task = taskOf(entry);
  const faults = modelFaults[task](entry);
  if (faults.length > 0) return faults.map((fault) => `${title}: ${fault}.`);
  const { contextTokens, maxOutputTokens, name, plans = [], targets } = entry as FileModel;
  const used = [...new Set(targets.map(({ upstream }) => upstream))];
  const kinds = new Map(
    upstreams.map((upstream) => [memberOf(upstream, 'name'), memberOf(upstream, 'kind')]),
  );
  const unknown = used.filter((target) => !kinds.has(target));
  const chatOnly = used.filter((target) => kinds.has(target) && !takes(kinds.get(target), task));
  const twice = repeated(targets.map(({ model = name, upstream }) => `${upstream}/${model}`));
  const noPlans = plans.filter((plan) => catalog.find(plan) === undefined);
  const isTooLong = contextTokens !== undefined && (maxOutputTokens ?? 0) > contextTokens;
  return [
    ...(/[\p{Cc}=*]/u.test(name) || name.trim() !== name
      ? ['`name` must not contain control characters, `=`, `*`, or leading or trailing spaces.']
      : []),
    ...unknown.map((target) => `no upstream is named "${target}".`),
    ...chatOnly.map(
      (target) => `the upstream "${target}" is of kind ${kinds.get(target)}, which does not support ${task}.`,
    ),
    ...twice.map((target) => `the target ${target} is listed twice.`),
    ...noPlans.map((plan) => `no plan has the ID "${plan}".`),
    ...(isTooLong ? ['`maxOutputTokens` must be at most `contextTokens`.'] : []),
  ].map((mistake) => `${title}: ${mistake}`);
}

export function mistakesInNames(upstreams: readonly string[], models: readonly string[]): string[] {
  return [
    ...repeated(upstreams).map((name) => `Two upstreams are named "${name}".`),
    ...repeated(models).map((name) => `Two models are named "${name}".`),
  ];
}

/** Finds plans that include a task but none of its models. */
export function mistakesInPlans(
  models: readonly FileModel[],
  tasks: readonly ModelTask[],
  catalog: PlanCatalog,
): string[] {
  return tasks.flatMap((task) => {
    const ofTask = models.filter((model) => taskOf(model) === task);
    const isServed = (id: string) => ofTask.some(({ plans }) => plans === undefined || plans.includes(id));
    const left = catalog.plans.filter((plan) => includes(plan, task) && !isServed(plan.id));
    if (left.length === 0) return [];
    const what = task === 'chat' ? 'No model' : `No model for ${task}`;
    const whom = left.length === 1 ? 'the plan' : 'the plans';
    return [`${what} is available to ${whom} ${quoted(left.map(({ id }) => id))}.`];
  });
}
