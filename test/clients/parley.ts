/** What the tests of every client share: a Parley to speak to, with what its own tests call a base URL and a key. */
import type { Test } from 'tap';
import { type DatabaseKind, plansFile, startTestService } from '../support/service.ts';
import { MODEL, startUpstream, type Upstream } from '../support/upstream/client.ts';

export type Parley = {
  baseURL: string;
  /** Of an account without ceilings, with all scopes. */
  apiKey: string;
  /** Of an account whose chat quota is spent. */
  spentKey: string;
  /** It may only list models. */
  narrowKey: string;
  /** Mistyped: nobody has it. */
  strangeKey: string;
  /** The default model. */
  model: string;
};

/** Starts a Parley. It ends with the test. */
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

/** A Parley that hands on to the test upstream. */
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
  t.equal(parley.model, MODEL, 'the upstream answers');
  t.beforeEach(() => upstream.reset());
  return { parley, upstream };
}

/** A Parley that answers by itself. */
export const onItsOwn = (t: Test, kind: DatabaseKind, env: Record<string, string> = {}): Promise<Parley> =>
  startParley(t, kind, env);

/** Endless, unless it is aborted: the `user` of a call. */
export const SLOW = 'chunks=10000,chunkIntervalMs=20';

/**
 * Waits until the upstream saw its only call aborted.
 *
 * @returns how many milliseconds after `since` (as of `Date.now()`)
 */
export async function abortSeen(upstream: Upstream, since: number): Promise<number> {
  for (;;) {
    const { abortedAt } = await upstream.onlyCall();
    if (abortedAt !== null) return abortedAt - since;
    if (Date.now() - since > 20_000) throw new Error('The upstream saw no abort within 20 seconds.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a promise is rejected with, and how long that took. */
export async function rejection(promise: PromiseLike<unknown>): Promise<{ error: unknown; ms: number }> {
  const startedAt = performance.now();
  try {
    await promise;
  } catch (error) {
    return { error, ms: performance.now() - startedAt };
  }
  throw new Error('It was not refused.');
}

/** The eight bytes that a PNG begins with. */
export const isPng = (base64: string | undefined): boolean =>
  Buffer.from(base64 ?? '', 'base64')
    .subarray(0, 8)
    .equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
