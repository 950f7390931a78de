/** `OTEL_EXPORTER_OTLP_ENDPOINT` and the sampler's variables. The exporter reads its other variables itself. */
import { ConfigError, type Env, oneOf, text } from '../environment.ts';

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

export type TelemetrySettings = Readonly<{
  /** The base URL of a collector that accepts OTLP over HTTP. */
  endpoint: string;
  sampler: (typeof samplers)[number];
  /** The sampling ratio from 0 to 1. Only samplers by ratio use it. */
  ratio: number;
}>;

function ratio(env: Env): number {
  const value = text(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const number = Number(value);
  if (!/^\d*\.?\d+$/.test(value) || number > 1)
    throw new ConfigError('OTEL_TRACES_SAMPLER_ARG', `must be a number from 0 to 1, not "${value}".`);
  return number;
}

/** Returns undefined if nothing is exported. Throws ConfigError. */
export function telemetrySettings(env: Env): TelemetrySettings | undefined {
  const sampler = oneOf(env, 'OTEL_TRACES_SAMPLER', samplers, 'parentbased_always_on');
  const sampled = ratio(env);
  const endpoint = text(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined || text(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'must be an http or https URL such as http://localhost:4318.',
    );
  return { endpoint, sampler, ratio: sampled };
}
