/** Helpers for tests of sessions. */
import type { Test } from 'tap';
import { loadConfig } from '../../src/config.ts';
import { type Service, startService } from '../../src/service.ts';
import { Client, type OpenApi } from './http.ts';
import type { TestService } from './service.ts';

/** A limit that is high enough for tests that sign in often. */
export const manyAttempts = { AUTH_ATTEMPTS_PER_MINUTE: '10000' };

/** Starts a second service on the database of the first. Nothing else is shared, as if it were another process. */
export async function startReplica(
  t: Test,
  first: TestService,
  env: Record<string, string> = {},
): Promise<Service & { client: Client }> {
  const service = await startService(loadConfig({ ...first.env, ...env }));
  t.teardown(() => service.stop());
  return {
    ...service,
    client: new Client(`http://127.0.0.1:${service.port}`, service.app.swagger() as unknown as OpenApi),
  };
}

/**
 * The `name=value` of the only cookie that a response sets, apart from the device cookie. Throws if there is not one.
 */
export function cookieOf(answer: { headers: Headers }): string {
  const [cookie, ...more] = answer.headers.getSetCookie().filter((one) => !/^[^=]*_device=/.test(one));
  if (cookie === undefined || more.length > 0)
    throw new Error(`Expected one Set-Cookie, got ${more.length === 0 ? 0 : more.length + 1}.`);
  return cookie.split(';')[0] ?? '';
}
