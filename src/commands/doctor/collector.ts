/** Checks whether the trace collector accepts what the service exports. Contract section 17. */
import type { Config } from '../../config.ts';
import { type Finding, isWarning, reasonOf } from './finding.ts';

const ABOUT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const TIMEOUT_MS = 10_000;

export async function checkCollector(config: Config | undefined): Promise<Finding[]> {
  const endpoint = config?.telemetry?.endpoint;
  if (endpoint === undefined) return [];
  const address = new URL(`${endpoint.replace(/\/+$/, '')}/v1/traces`);
  try {
    // An empty message is a valid export without spans.
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    // The exporter sends its own headers, possibly with a key.
    if (response.ok || response.status === 401 || response.status === 403) return [];
    return [
      isWarning(
        ABOUT,
        `${address.host}${address.pathname} returns ${response.status}, so traces are lost.`,
        `Set ${ABOUT} to the base URL of a collector that receives OTLP over HTTP, usually on port 4318. Port 4317 is for gRPC.`,
      ),
    ];
  } catch (error) {
    return [
      isWarning(
        ABOUT,
        `The collector at ${address.host} cannot be reached (${reasonOf(error)}), so traces are lost.`,
        'Start the collector, correct its address, or remove the variable.',
      ),
    ];
  }
}
