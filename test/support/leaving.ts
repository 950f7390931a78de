/** Clients that disconnect before the response arrives. */
import type { TestService } from './service.ts';

/**
 * Sends a POST request whose client can disconnect.
 *
 * @returns `leave` to disconnect, and a promise of the status, which is undefined if there was no response
 */
export function leavable({ client }: TestService, path: string, body: unknown, key: string) {
  const controller = new AbortController();
  const status = fetch(`${client.origin}/api/v1${path}`, {
    ...{ method: 'POST', signal: controller.signal, body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  }).then(
    (response) => response.status,
    () => undefined,
  );
  return { status, leave: () => controller.abort() };
}
