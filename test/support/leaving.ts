/** Clients that leave before their answer comes. */
import type { TestService } from './service.ts';

/** A request whose client can leave. Its status is undefined if the client left first. */
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
