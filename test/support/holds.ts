/** Measures how long requests block the event loop of a service, in CPU time, which other load does not distort. */
import fs from 'node:fs';
import type { Test } from 'tap';
import { startProcess } from './process.ts';
import { freshDatabase, plansFile } from './service.ts';

/**
 * Makes the C library keep freed memory and use large pages. A new page takes twenty times as long on some machines as
 * on others, so page faults would distort the measurement.
 */
const FEW_PAGES = {
  GLIBC_TUNABLES:
    'glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=4294967296',
};

/**
 * Sends a body, and reads the whole response. Prints the body of a 5xx, because the status alone does not explain it.
 */
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
 * Starts a service in its own process that records how long each turn blocks its event loop, without the extra time for
 * new pages on slow machines. Also creates an account and a key.
 *
 * @param holds - the file to record the turns in
 * @returns the process, and headers with the key
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

/**
 * Runs `work` while a service from `startMeasured` records to the file `holds`.
 *
 * @returns the result of `work`, and the longest turn of the event loop in the meantime, in milliseconds of CPU time
 */
export async function longestHold<T>(holds: string, work: () => Promise<T>): Promise<[T, number]> {
  fs.writeFileSync(holds, '');
  const done = await work();
  return [done, Math.max(0, ...fs.readFileSync(holds, 'utf8').split('\n').map(Number))];
}
