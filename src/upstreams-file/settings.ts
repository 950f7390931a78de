/** The contents of `UPSTREAMS_FILE`, with defaults and keys filled in. */
import type { ModelTask, modelCapabilities } from '../../schemas/models.ts';
import type { FileTarget, UpstreamKind } from './schema.ts';

export type UpstreamSettings = Readonly<{
  name: string;
  kind: UpstreamKind;
  url: string;
  /** The file of the provider package to import. Only for the kind `ai-sdk`. */
  packageFile: string | undefined;
  apiKey: string | undefined;
  concurrency: number | undefined;
  timeouts: Readonly<{ connectMs?: number; firstByteMs?: number; idleMs?: number }>;
  headers: Readonly<Record<string, string>>;
  /** Chat completion fields that this upstream gets in addition to those that Parley knows. */
  fields: readonly string[];
}>;

/** Prices per million tokens, and per image, in the currency of the file. */
export type Prices = Readonly<{ input: number; cachedInput: number; output: number; image: number }>;

export type TargetSettings = Readonly<Required<Omit<FileTarget, 'prices'>>> & {
  readonly prices: Prices | undefined;
};

export type ModelSettings = Readonly<{
  name: string;
  task: ModelTask;
  description: string | undefined;
  targets: readonly TargetSettings[];
  /** Units to charge for each reply, input, or image. */
  units: number;
  /** The IDs of plans that include the model. Undefined: every plan. */
  plans: readonly string[] | undefined;
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
  /** The most tokens of an input image. Undefined: a default. */
  imageTokens: number | undefined;
  capabilities: readonly (typeof modelCapabilities)[number][] | undefined;
}>;

export type RoutingSettings = Readonly<{
  upstreams: readonly UpstreamSettings[];
  /** The default model of each task comes first. */
  models: readonly ModelSettings[];
  /** The time from a request to its first output, including all attempts. */
  deadlineMs: number;
  /** The currency of all prices, an ISO 4217 code. */
  currency: string;
}>;
