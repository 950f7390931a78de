/** Shared by the client tests: a Parley to call, and the base URL and keys to configure a client with. */
import type { Test } from 'tap';
import { type DatabaseKind, plansFile, startTestService } from '../support/service.ts';
import { MODEL, startUpstream, type Upstream } from '../support/upstream/client.ts';

export type Parley = {
  baseURL: string;
  /** A key with all scopes, of an account without quotas. */
  apiKey: string;
  /** A key of an account whose chat quota is spent. */
  spentKey: string;
  /** A key that may only list models. */
  narrowKey: string;
  /** A well-formed key that does not exist. */
  strangeKey: string;
  /** The ID of the default model. */
  model: string;
};

/** Starts a Parley, which stops when the test ends. */
async function startParley(t: Test, kind: DatabaseKind, env: Record<string, string>): Promise<Parley> {
  const { client } = await startTestService(t, kind, { ...plansFile(t, { chat: 1 }), ...env });
  const owner = await client.signUp();
  await client.put('/subscription', { plan: 'large', billing_period: 'monthly' }, { cookie: owner.cookie });
  const { key } = await client.createKey(owner);
  const narrow = await client.createKey(owner, { scopes: ['models'] });
  const spent = await client.createKey(await client.signUp());
  await client.post('/chat', { message: 'The only one today.' }, { key: spent.key });
  const { body } = await client.get('/models', { key });
  return {
    baseURL: `${client.origin}/api/v1`,
    apiKey: key,
    spentKey: spent.key,
    narrowKey: narrow.key,
    strangeKey: `parley_${'0'.repeat(8)}_${'0'.repeat(49)}`,
    model: body.data[0].id,
  };
}

/** Starts a Parley that uses the test upstream. The upstream is reset before each subtest. */
export async function withUpstream(
  t: Test,
  kind: DatabaseKind,
  env: Record<string, string> = {},
): Promise<{ parley: Parley; upstream: Upstream }> {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const parley = await startParley(t, kind, {
    CHAT_URL: upstream.url,
    IMAGES_URL: upstream.url,
    EMBEDDINGS_URL: upstream.url,
    ...env,
  });
  t.equal(parley.model, MODEL, "the default model is the upstream's");
  t.beforeEach(() => upstream.reset());
  return { parley, upstream };
}

/** Starts a Parley that uses its built-in engine. */
export const onItsOwn = (t: Test, kind: DatabaseKind, env: Record<string, string> = {}): Promise<Parley> =>
  startParley(t, kind, env);

/** As the `user` of a request, makes the upstream's reply endless until the client aborts it. */
export const SLOW = 'chunks=10000,chunkIntervalMs=20';

/**
 * Waits until the upstream's only request is aborted.
 *
 * @param since - a time by `Date.now()`
 * @returns the time from `since` to the abort, in milliseconds
 */
export async function abortSeen(upstream: Upstream, since: number): Promise<number> {
  for (;;) {
    const { abortedAt } = await upstream.onlyCall();
    if (abortedAt !== null) return abortedAt - since;
    if (Date.now() - since > 20_000) throw new Error('The upstream saw no abort within 20 seconds.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the error that rejects a promise, and how long that took. Throws if the promise resolves. */
export async function rejection(promise: PromiseLike<unknown>): Promise<{ error: unknown; ms: number }> {
  const startedAt = performance.now();
  try {
    await promise;
  } catch (error) {
    return { error, ms: performance.now() - startedAt };
  }
  throw new Error('The promise was not rejected.');
}

/** Whether base64-encoded data starts with the PNG signature. */
export const isPng = (base64: string | undefined): boolean =>
  Buffer.from(base64 ?? '', 'base64')
    .subarray(0, 8)
    .equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
