/** What `UPSTREAMS_FILE` says, with defaults and keys filled in. */
import type { ModelTask, modelCapabilities } from '../../schemas/models.ts';
import type { FileTarget, UpstreamKind } from './schema.ts';

export type UpstreamSettings = Readonly<{
  name: string;
  kind: UpstreamKind;
  url: string;
  /** The file to import of a provider package. Only of the kind `ai-sdk`. */
  packageFile: string | undefined;
  apiKey: string | undefined;
  concurrency: number | undefined;
  timeouts: Readonly<{ connectMs?: number; firstByteMs?: number; idleMs?: number }>;
  headers: Readonly<Record<string, string>>;
  /** Fields of chat completions that reach this upstream besides those that Parley knows. */
  fields: readonly string[];
}>;

/** Per million tokens, and per image, in the currency of the file. */
export type Prices = Readonly<{ input: number; cachedInput: number; output: number; image: number }>;

export type TargetSettings = Readonly<Required<Omit<FileTarget, 'prices'>>> & {
  readonly prices: Prices | undefined;
};

export type ModelSettings = Readonly<{
  name: string;
  task: ModelTask;
  description: string | undefined;
  targets: readonly TargetSettings[];
  /** Charged for each answer, input, or image. */
  units: number;
  /** Undefined: every plan. */
  plans: readonly string[] | undefined;
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
  /** The most of an image in the input. Undefined: a default. */
  imageTokens: number | undefined;
  capabilities: readonly (typeof modelCapabilities)[number][] | undefined;
}>;

export type RoutingSettings = Readonly<{
  upstreams: readonly UpstreamSettings[];
  /** The default of a task comes first. */
  models: readonly ModelSettings[];
  /** From a request to its first output, over all attempts. */
  deadlineMs: number;
  /** Of all prices, as ISO 4217 has it. */
  currency: string;
}>;
