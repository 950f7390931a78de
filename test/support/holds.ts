/** How long requests hold the event loop of a service, counted in CPU, which a busy machine does not change. */
import fs from 'node:fs';
import type { Test } from 'tap';
import { startProcess } from './process.ts';
import { freshDatabase, plansFile } from './service.ts';

/**
 * The C library keeps freed memory, and asks for large pages: what a new page costs, on some machines twenty times as much as on
 * others, is the machine's, not the service's.
 */
const FEW_PAGES = {
  GLIBC_TUNABLES:
    'glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=4294967296',
};

/** Sends a body, and reads the whole answer. Prints errors, which say what the status alone does not. */
export async function post(
  origin: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(60_000),
  });
  const answer = await response.arrayBuffer();
  if (response.status >= 500) console.error(path, response.status, Buffer.from(answer).toString());
  return response;
}

/**
 * A service in a process of its own that writes down what holds its event loop, and a key for it. What new pages cost more than on
 * other machines is left out.
 */
export async function startMeasured(t: Test, env: Record<string, string>, holds: string) {
  const database = await freshDatabase('postgres');
  const settings = { LOG_LEVEL: 'warn', AUTH_ATTEMPTS_PER_MINUTE: '1000000' };
  const service = await startProcess(
    t,
    { ...database.env, ...plansFile(t), ...settings, ...env, ...FEW_PAGES, LOOP_HOLDS_FILE: holds },
    new URL('./loop-holds.ts', import.meta.url).href,
  );
  t.teardown(async () => {
    await service.end();
    await database.drop();
  });
  const { origin } = service;
  const account = JSON.stringify({ email: 'large@example.com', password: 'correct horse battery' });
  const signedUp = await post(origin, '/auth/signup', account);
  const cookie = signedUp.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const made = await fetch(`${origin}/api/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ name: 'Large', scopes: ['chat', 'images', 'search'] }),
  });
  const { key } = (await made.json()) as { key: string };
  return { ...service, headers: { authorization: `Bearer ${key}` } };
}

/** Returns what the work returned, and the longest turn of the event loop meanwhile, in milliseconds. */
export async function longestHold<T>(holds: string, work: () => Promise<T>): Promise<[T, number]> {
  fs.writeFileSync(holds, '');
  const done = await work();
  return [done, Math.max(0, ...fs.readFileSync(holds, 'utf8').split('\n').map(Number))];
}
